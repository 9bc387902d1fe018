import { readConfig } from "../config/load.ts";
import { ConfigError, messageOf } from "../errors.ts";
import { toBearer } from "../shared/secret.ts";
import { locateConfig, serviceAddress } from "./context.ts";

/** How a running service is found. */
export interface ServiceFlags {
  config?: string;
  /** Its address; absent: `gateway.host` and `gateway.port`. */
  url?: string;
}

/** Absent fields are left out of the query. */
type ApiQuery = Record<string, string | number | undefined>;

/** The operator's side of a running service. Calls reject with a `ConfigError` where none answers, or something else does. */
export interface OperatorClient {
  /** Gives the answer whatever its status. */
  send(method: "GET" | "POST" | "DELETE", path: string, query?: ApiQuery): Promise<Response>;
  /** Gives the answer of a call that went well; rejects with a `ConfigError` for any other. */
  call(method: "GET" | "POST" | "DELETE", path: string, query?: ApiQuery): Promise<Response>;
}

/** Takes address and token from the configuration. Throws a `ConfigError` where it has no gateway token. */
export async function createOperatorClient(flags: ServiceFlags): Promise<OperatorClient> {
  const { config } = await readConfig(locateConfig(flags.config), process.env);
  const { token } = config.gateway;
  if (!token) throw withoutToken(config.file);
  const authorization = toBearer(token);
  const address = flags.url ?? serviceAddress(config.gateway);

  async function send(method: string, path: string, query: ApiQuery = {}): Promise<Response> {
    const url = new URL(path, address);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    return fetch(url, { method, headers: { authorization } }).catch((error: unknown) => {
      throw noService(address, error);
    });
  }

  return {
    send,
    async call(method, path, query) {
      const response = await send(method, path, query);
      if (response.ok && isAnswer(response)) return response;
      throw parseRefusal(response.status, await response.text()) ?? noneOfOurs(address, response.status);
    },
  };
}

/** JSON, or lines of it; `application/json; charset=utf-8`, `application/x-ndjson`. */
function isAnswer({ headers }: Response): boolean {
  return /json/.test(headers.get("content-type") ?? "");
}

/** undefined: no service of this kind writes such a body. */
function parseRefusal(status: number, body: string): ConfigError | undefined {
  try {
    const { code, error }: { code?: unknown; error?: unknown } = Object(JSON.parse(body));
    if (typeof code === "string" && typeof error === "string") {
      return new ConfigError([{ message: `${status} ${code}: ${error}` }]);
    }
  } catch {
    // a page, or nothing
  }
  return undefined;
}

function noneOfOurs(address: string, status: number): ConfigError {
  const message = `What answers at ${address} (${status}) is no webhooks service.`;
  return new ConfigError([{ message: `${message} Name the service's address with --url.` }]);
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

/** An event as `GET /api/events` lists it. */
export interface EventRow {
  id: string;
  hook: string;
  mapping?: string;
  /** ISO 8601. */
  receivedAt: string;
  status: string;
  replayOf?: string;
}

export interface EventFilter {
  hook?: string;
  status?: string;
  /** ISO 8601: received at or after this moment, and before that one. */
  since?: string;
  until?: string;
}

const PAGE = 500;

/** All these events, newest first, a page at a time. */
export async function* readEventRows(
  client: OperatorClient,
  { hook, status, since = "", until = "~" }: EventFilter,
): AsyncGenerator<EventRow> {
  let before: string | undefined;
  do {
    const page = await readPage(client, { hook, status, before, limit: PAGE });
    for (const event of page) {
      // Newest first: what follows is older. Moments in ISO 8601 sort as text.
      if (event.receivedAt < since) return;
      if (event.receivedAt < until) yield event;
    }
    before = page.length === PAGE ? page.at(-1)?.id : undefined;
  } while (before !== undefined);
}

async function readPage(client: OperatorClient, query: ApiQuery): Promise<EventRow[]> {
  const response = await client.call("GET", "/api/events", query);
  const { events }: { events: EventRow[] } = JSON.parse(await response.text());
  return events;
}
