import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import { readText } from "../../core/shared/net/network.ts";
import { toHostName } from "../../core/shared/net/own-host.ts";
import { classifyAddress } from "../../core/shared/net/addresses.ts";
import {
  type Connection,
  NotSent,
  openConnection,
  type ResolveHost,
  resolveHost,
} from "../../core/shared/net/connection.ts";
import { invalid } from "../errors.ts";
import { signMessage } from "./secrets.ts";

export interface CallbackRules {
  /** Hosts for which http, any port and private addresses are fine. */
  allowHosts: readonly string[];
  /** Callbacks below it are refused. */
  publicUrl: string | undefined;
}

const MAX_URL_LENGTH = 2048;

/** Throws an `McpError` unless events may be sent to the address. */
export function requireCallback(text: string, { allowHosts, publicUrl }: CallbackRules): URL {
  const url = text.length <= MAX_URL_LENGTH && /^[\x21-\x7e]+$/.test(text) ? URL.parse(text) : null;
  if (!url) throw invalid(`delivery.url must be a URL of at most ${MAX_URL_LENGTH} visible ASCII characters.`);
  if (url.username !== "" || url.password !== "" || text.includes("#") || /^[^/?]*:\/\/[^/?]*@/.test(text)) {
    throw invalid("delivery.url must have no user, no password and no fragment.");
  }
  const isAllowed = isAllowedHost(url, allowHosts);
  if (url.protocol !== "https:" && !(isAllowed && url.protocol === "http:")) {
    throw invalid("delivery.url must begin with https://.");
  }
  if (url.port !== "" && !isAllowed) throw invalid("delivery.url must use port 443.");
  const literal = toHostName(url.hostname);
  const reach = isIP(literal) === 0 ? "public" : classifyAddress(literal);
  if (reach === "never" || (reach === "private" && !isAllowed)) {
    throw invalid("delivery.url has an address that is not public.");
  }
  if (publicUrl !== undefined && isBelow(url, new URL(publicUrl))) {
    throw invalid("delivery.url is an address of this service.");
  }
  return url;
}

export function isAllowedHost(url: URL, allowHosts: readonly string[]): boolean {
  return allowHosts.includes(toHostName(url.hostname)) || allowHosts.includes(url.hostname);
}

function isBelow(url: URL, base: URL): boolean {
  const path = base.pathname.replace(/\/+$/, "");
  return (
    toHostName(url.hostname) === toHostName(base.hostname) &&
    url.port === base.port &&
    `${url.pathname}/`.startsWith(`${path}/`)
  );
}

/** Why a message was not accepted: a word that says nothing of the answer. */
export const FAILURES = [
  "connection_refused",
  "timeout",
  "tls_error",
  "http_4xx",
  "http_5xx",
  "challenge_failed",
] as const;
export type Failure = (typeof FAILURES)[number];

export type PostResult = { kind: "ok"; text: string } | { kind: "failed"; reason: Failure; status?: number };

export interface Message {
  url: string;
  subscription: string;
  /** `webhook-id` */
  id: string;
  body: string;
  /** Each signs. */
  secrets: readonly string[];
}

/** Sends messages to callbacks. */
export interface Sender {
  /** Never rejects. `onAddress`: called with each address that the message may go to; what it throws is thrown. */
  post(message: Message, allowHosts: readonly string[]): Promise<PostResult>;
  /** The same over a connection of its own, which calls `onHost` with the host and its addresses before it connects. */
  postOnce(message: Message, allowHosts: readonly string[], onHost: (names: string[]) => void): Promise<PostResult>;
  close(): void;
}

const TIMEOUT_MS = 5000;
const MAX_ANSWER = 64 * 1024;
/** Connections that are kept. */
const MAX_ORIGINS = 256;

export function createSender(resolve: ResolveHost = resolveHost): Sender {
  /** The one that was used last is the last one. */
  const connections = new Map<string, Connection>();

  return {
    post(message, allowHosts) {
      const url = new URL(message.url);
      return send(connectionTo(url, isAllowedHost(url, allowHosts)), url, message);
    },
    async postOnce(message, allowHosts, onHost) {
      const url = new URL(message.url);
      const host = toHostName(url.hostname);
      if (isIP(host) !== 0) onHost([host]);
      const connection = openConnection({
        baseUrl: url.origin,
        private: isAllowedHost(url, allowHosts),
        maxRedirects: 0,
        async resolve(hostname) {
          const addresses: LookupAddress[] = await resolve(hostname);
          onHost([host, ...addresses.map(({ address }) => address)]);
          return addresses;
        },
      });
      return send(connection, url, message).finally(connection.close);
    },
    close() {
      for (const connection of connections.values()) connection.close();
      connections.clear();
    },
  };

  function connectionTo({ origin }: URL, isPrivate: boolean): Connection {
    const key = `${origin} ${isPrivate}`;
    const known = connections.get(key);
    const connection = known ?? openConnection({ baseUrl: origin, private: isPrivate, resolve, maxRedirects: 0 });
    connections.delete(key);
    connections.set(key, connection);
    const [oldest] = connections;
    if (oldest && connections.size > MAX_ORIGINS) {
      connections.delete(oldest[0]);
      oldest[1].close();
    }
    return connection;
  }
}

async function send(connection: Connection, url: URL, message: Message): Promise<PostResult> {
  const { subscription, id, body, secrets } = message;
  try {
    const response = await connection.fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "hookline",
        ...signMessage({ id, body, now: Date.now() }, secrets),
        "x-mcp-subscription-id": subscription,
      },
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await readText(response, MAX_ANSWER);
    const { status, ok } = response;
    if (ok) return { kind: "ok", text };
    return { kind: "failed", reason: status >= 500 ? "http_5xx" : "http_4xx", status };
  } catch (error) {
    return { kind: "failed", reason: toFailure(error) };
  }
}

function toFailure(error: unknown): Failure {
  if (error instanceof Error && error.name === "TimeoutError") return "timeout";
  return error instanceof NotSent && error.message.includes("TLS certificate") ? "tls_error" : "connection_refused";
}
