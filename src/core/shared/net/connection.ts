import type { LookupAddress } from "node:dns";
import { lookup as lookUpName } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { callbackify } from "node:util";
import type * as Undici from "undici";
import { codeOf, DriverError, messageOf } from "../../errors.ts";
import { describeUnreachable } from "./network.ts";
import { undici } from "./undici.ts";
import { classifyAddress } from "./addresses.ts";

/** The addresses of a host name, in the order of preference. */
export type ResolveHost = (hostname: string) => Promise<LookupAddress[]>;

export interface ConnectionOptions {
  /** The only scheme, host and port that is reached. */
  baseUrl: string;
  /** The host may be this machine or in a private network. */
  private: boolean;
  /** Default: the system's. */
  resolve?: ResolveHost;
  /** How many redirects are followed. Default: 5. */
  maxRedirects?: number;
}

/** A way to one server, which no redirect, argument or name server leads elsewhere. */
export interface Connection {
  /** The host, and the port if it is not the scheme's own, for messages. */
  host: string;
  /** Like `fetch`. Follows redirects on the same origin. Rejects with a `NotSent` or an error of `fetch`. */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /** Closes what is idle now, and the rest when its request has ended. */
  close(): void;
}

/** Nothing was sent to the server. The message is a sentence of ours. */
export class NotSent extends Error {
  override name = "NotSent";
}

const MAX_REDIRECTS = 5;

export function openConnection({
  baseUrl,
  private: isPrivate,
  resolve = resolveHost,
  maxRedirects = MAX_REDIRECTS,
}: ConnectionOptions): Connection {
  const base = new URL(baseUrl);
  const origin = toOrigin(base);
  const host = toHost(base);
  let agent: Undici.Agent | undefined;
  return {
    host,
    async fetch(input, init = {}) {
      let url = new URL(input);
      let request = init;
      for (let redirects = 0; ; redirects += 1) {
        requireOrigin(url);
        const response = await send(url, request);
        const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
        if (location === null || redirects >= maxRedirects) return response;
        const next = URL.parse(location, url.href);
        // The caller sees the redirect itself as an answer.
        if (next === null || toOrigin(next) !== origin || hasUser(next)) return response;
        const isSameRequest = response.status >= 307 || !init.method || init.method === "GET";
        if (!isSameRequest) return response;
        await response.body?.cancel();
        url = next;
        request = init;
      }
    },
    close() {
      agent?.close().catch(() => {});
      // A call that has just begun in a configuration that was replaced gets its own connection.
      agent = undefined;
    },
  };

  async function send(url: URL, init: RequestInit): Promise<Response> {
    agent ??= new (undici().Agent)({
      connect: { lookup: toLookup(resolveChecked) },
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const options: RequestInit & { dispatcher: Undici.Agent } = { ...init, redirect: "manual", dispatcher: agent };
    try {
      return await fetch(url, options);
    } catch (error) {
      throw init.signal?.aborted ? error : (findNotSent(error, url) ?? error);
    }
  }

  /** An address that is written as the host needs no lookup, so it is checked here. */
  function requireOrigin(url: URL): void {
    if (toOrigin(url) !== origin || hasUser(url)) {
      throw new NotSent(`${url.host} is not the host of this set, which is ${host}.`);
    }
    const literal = url.hostname.replace(/^\[|\]$/g, "");
    const forbidden = isIP(literal) === 0 ? undefined : findForbidden(host, [{ address: literal }], isPrivate);
    if (forbidden !== undefined) throw new NotSent(forbidden);
  }

  async function resolveChecked(hostname: string): Promise<LookupAddress[]> {
    const addresses = await resolve(hostname).catch((error: unknown) => {
      throw new NotSent(`${explainLookup(error, hostname)}.`, { cause: error });
    });
    const forbidden = findForbidden(hostname, addresses, isPrivate);
    if (forbidden !== undefined) throw new NotSent(forbidden);
    return addresses;
  }
}

/** The socket connects to the addresses that it gets here, so a second answer of the name server has no effect. */
function toLookup(resolve: (hostname: string) => Promise<LookupAddress[]>): LookupFunction {
  const resolveFor = callbackify(resolve);
  return (hostname, options, callback) => {
    resolveFor(hostname, (error, addresses) => {
      if (error) callback(error, "", 0);
      else if (options.all) callback(null, addresses);
      else callback(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
}

function explainLookup(error: unknown, hostname: string): string {
  return (
    describeUnreachable(codeOf(error), hostname, "") ??
    `the host ${hostname} cannot be looked up (${String(codeOf(error))})`
  );
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Looks a name up as the system does. */
export function resolveHost(hostname: string): ReturnType<ResolveHost> {
  return lookUpName(hostname, { all: true });
}

/** Why a host is not called. One forbidden address forbids the name: which one of several is used is chance. */
function findForbidden(host: string, addresses: { address: string }[], isPrivate: boolean): string | undefined {
  if (addresses.length === 0) return `${host} has no address.`;
  const reach = addresses.map(({ address }) => classifyAddress(address));
  if (reach.includes("never")) return `${host} has a link-local, metadata or reserved address, which is never called.`;
  if (isPrivate || !reach.includes("private")) return undefined;
  return `${host} has a private address: set private: true in its block if that is intended.`;
}

/** Scheme, host and port in one form: lower case, punycode, without a final dot, the port written out. */
function toOrigin({ protocol, hostname, port }: URL): string {
  return `${protocol}//${hostname.replace(/\.$/, "")}:${port || (protocol === "https:" ? "443" : "80")}`;
}

function toHost({ hostname, port }: URL): string {
  return hostname.replace(/\.$/, "") + (port && `:${port}`);
}

function hasUser({ username, password }: URL): boolean {
  return username !== "" || password !== "";
}

/** The mistake in an address of the configuration, as a sentence. */
export function findAddressProblem(address: string, example: string): string | undefined {
  const url = URL.parse(address);
  if (!url) return `This is not a URL such as ${example}.`;
  return hasUser(url) ? "The URL must not contain a user or a password. Set headers.Authorization instead." : undefined;
}

/** The codes of connections that were never open. */
const CONNECT_CODES = /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;
const TLS_CODES = /CERT|^ERR_(?:TLS|SSL)_|^DEPTH_|^UNABLE_TO_/;

function findNotSent(error: unknown, url: URL): NotSent | undefined {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof NotSent) return cause;
  // Several addresses were tried.
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  const code = String(codeOf(first) ?? codeOf(cause) ?? "");
  const port = url.port || (url.protocol === "https:" ? 443 : 80);
  // https://fetch.spec.whatwg.org/#port-blocking: fetch gives no code for it.
  if (cause instanceof Error && cause.message === "bad port") {
    return new NotSent(`Port ${port} is for another protocol than HTTP, and is never called.`, { cause: error });
  }
  if (TLS_CODES.test(code)) {
    return new NotSent(`${toHost(url)} has no valid TLS certificate (${code}).`, { cause: error });
  }
  if (!CONNECT_CODES.test(code)) return undefined;
  const reason = describeUnreachable(code, url.hostname, port) ?? `${toHost(url)} cannot be reached (${code})`;
  return new NotSent(`${reason}.`, { cause: error });
}

/** The error for a request that may have arrived and has no answer. */
export function toUnknownOutcome(host: string, error: unknown, signal: AbortSignal): DriverError {
  if (signal.aborted) return new DriverError(`The call was stopped before ${host} answered.`, { retryable: true });
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  // Without a cause it is a request that fetch rejects, and the message may quote a header with its credential.
  const reason = error instanceof Error && error.cause === undefined ? "the request failed" : messageOf(cause);
  return new DriverError(`${host} gave no answer: ${reason}.`, { retryable: true });
}
