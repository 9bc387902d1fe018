import { isIP, SocketAddress } from "node:net";
import { HookError } from "../../errors.ts";

const MAX_FAILURES = 20;
const WINDOW_MS = 60_000;
/** Clients remembered at once: an attacker with many addresses costs a few megabytes and no more. */
const MAX_CLIENTS = 10_000;

/** Counts failed credentials for each client in a sliding window. */
export interface Throttle {
  /** Milliseconds until another failure of this client is worth an answer of its own; 0 while it is. */
  waitMs(client: string): number;
  fail(client: string): void;
  reset(client: string): void;
}

/** `now` gives milliseconds that never run backwards. */
export function createThrottle(now: () => number = () => performance.now()): Throttle {
  /** The times of each client's last failures, oldest first; the client that failed longest ago stands first. */
  const failures = new Map<string, number[]>();

  return {
    waitMs(client): number {
      const times = failures.get(client) ?? [];
      const oldest = times.length < MAX_FAILURES ? undefined : times[0];
      return oldest === undefined ? 0 : Math.max(0, oldest + WINDOW_MS - now());
    },

    fail(client): void {
      const times = failures.get(client) ?? [];
      times.push(now());
      if (times.length > MAX_FAILURES) times.shift();
      failures.delete(client);
      failures.set(client, times);
      if (failures.size > MAX_CLIENTS) forgetOldest(failures);
    },

    reset(client): void {
      failures.delete(client);
    },
  };
}

/** A Map keeps the order of insertion. */
function forgetOldest(failures: Map<string, number[]>): void {
  for (const client of failures.keys()) {
    failures.delete(client);
    return;
  }
}

/** Keeps a credential from being guessed at speed. A right one always passes. */
export interface GuessGuard {
  /** The client showed the right one: what it got wrong before is forgotten. */
  passed(client: string): void;
  /** The client did not. Throws the 429 of one that failed too often; returns where the failure is worth its own answer. */
  failed(client: string): void;
}

export function createGuessGuard(): GuessGuard {
  const throttle = createThrottle();

  return {
    passed: throttle.reset,

    failed(client): void {
      const waitMs = throttle.waitMs(client);
      if (waitMs > 0) throw tooManyFailures(waitMs);
      throttle.fail(client);
    },
  };
}

function tooManyFailures(waitMs: number): HookError {
  return new HookError("too_many_failures", { headers: { "Retry-After": String(Math.ceil(waitMs / 1000)) } });
}

/** Some proxies add the port they saw: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

/** A dual-stack socket shows IPv4 clients as `::ffff:192.0.2.1`. */
const MAPPED = /^::ffff:([\d.]+)$/;

/**
 * The address that failures are counted under: without a port, all forms of one address made one, an IPv4 one its own,
 * `unknown` for what is no address.
 */
export function toClient(address: string | undefined): string {
  if (address === undefined) return "unknown";
  if (isIP(address)) return canonical(address);
  const [, v6, v4] = WITH_PORT.exec(address) ?? [];
  const host = v6 ?? v4 ?? "";
  return isIP(host) ? canonical(host) : "unknown";
}

function canonical(address: string): string {
  if (isIP(address) === 4) return address;
  // Sockets give their peer in this form already: the common case costs nothing.
  const mapped = MAPPED.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const { address: written } = new SocketAddress({ address, family: "ipv6" });
  return MAPPED.exec(written)?.[1] ?? written;
}
