import { readConfig } from "../config/read-config.ts";
import type { ResolvedConfig } from "../config/resolved.ts";
import { ConfigError, HookError, messageOf } from "../errors.ts";
import { locateConfig } from "./locate.ts";

/** How a running service is found. */
export interface ServiceFlags {
  config?: string;
  /** Its address; absent: `gateway.host` and `gateway.port`. */
  url?: string;
}

/** Absent fields are left out of the query. */
export type ApiQuery = Record<string, string | number | undefined>;

/** The operator's side of a running service. Calls reject with a `ConfigError` where no service answers. */
export interface OperatorClient {
  /** Gives the answer whatever its status. */
  send(method: "GET" | "POST" | "DELETE", path: string, query?: ApiQuery): Promise<Response>;
  /** Gives the answer of a call that went well; rejects with the `HookError` of another. */
  call(method: "GET" | "POST" | "DELETE", path: string, query?: ApiQuery): Promise<Response>;
}

/** Takes address and token from the configuration. Throws a `ConfigError` where it has no gateway token. */
export async function createOperatorClient(flags: ServiceFlags): Promise<OperatorClient> {
  const { config } = await readConfig(locateConfig(flags.config), process.env);
  const { token } = config.gateway;
  if (!token) throw withoutToken(config.file);
  const address = flags.url ?? toAddress(config.gateway);

  async function send(method: string, path: string, query: ApiQuery = {}): Promise<Response> {
    const url = new URL(path, address);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const headers = { authorization: `Bearer ${token}` };
    return fetch(url, { method, headers }).catch((error: unknown) => {
      throw noService(address, error);
    });
  }

  return {
    send,
    async call(method, path, query) {
      const response = await send(method, path, query);
      if (response.ok) return response;
      const { code, error }: { code: string; error: string } = JSON.parse(await response.text());
      throw new HookError(response.status, code, error);
    },
  };
}

/** A service that listens on every address is called on the loopback one. */
function toAddress({ host, port }: ResolvedConfig["gateway"]): string {
  const reachable = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}

function withoutToken(file: string | undefined): ConfigError {
  const message = "There is no gateway token, so the service shows nothing to operators: set one.";
  return new ConfigError([{ message, file, key: "gateway.auth.token" }]);
}

function noService(address: string, error: unknown): ConfigError {
  const cause = error instanceof Error && error.cause ? messageOf(error.cause) : messageOf(error);
  const next = "Start it with `webhooks serve`, or name its address with --url.";
  return new ConfigError([{ message: `No service answers at ${address} (${cause}). ${next}` }]);
}
