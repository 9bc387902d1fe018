import { HookError } from "../errors.ts";

const MAX_FAILURES = 20;
const WINDOW_MS = 60_000;
/** So that an attacker with many addresses costs a few megabytes and no more. */
const MAX_CLIENTS = 10_000;

/** Keeps clients from guessing a credential: counts the failures of each in a sliding window. */
export interface AuthRateLimit {
  /** The client, an address, showed a right credential: forgets the failures of its network. */
  succeed(client: string): void;
  /** Whether the next failure of the client is answered with a 429. */
  isThrottled(client: string): boolean;
  /** That 429; undefined: the client has not failed too often. */
  refusal(client: string): HookError | undefined;
  /** Counts a failure. Throws the 429 of a client that has failed too often; such a failure is not counted. */
  fail(client: string): void;
}

/** `now` gives milliseconds that never go backwards. */
export function createAuthRateLimit(now: () => number = () => performance.now()): AuthRateLimit {
  /** The times of each client's last failures, oldest first; the client that failed longest ago comes first. */
  const failures = new Map<string, number[]>();

  return {
    succeed(client) {
      failures.delete(networkOf(client));
    },

    isThrottled: (client) => waitOf(failures.get(networkOf(client))) > 0,

    refusal(client) {
      const waitMs = waitOf(failures.get(networkOf(client)));
      return waitMs > 0 ? tooManyFailures(waitMs) : undefined;
    },

    fail(address) {
      const client = networkOf(address);
      const times = failures.get(client) ?? [];
      const waitMs = waitOf(times);
      if (waitMs > 0) throw tooManyFailures(waitMs);
      times.push(now());
      if (times.length > MAX_FAILURES) times.shift();
      failures.delete(client);
      failures.set(client, times);
      if (failures.size > MAX_CLIENTS) failures.delete(failures.keys().next().value ?? "");
    },
  };

  /** In milliseconds. */
  function waitOf(times: number[] = []): number {
    return times.length < MAX_FAILURES ? 0 : (times[0] ?? 0) + WINDOW_MS - now();
  }
}

/** One sender usually has a whole /64 of IPv6 addresses: counted singly, they would give it that many attempts. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail = ""] = address.split("::");
  const groups = head.split(":");
  const last = tail.split(":");
  // `::` stands for as many zeros as make eight groups.
  while (groups.length + last.length < 8) groups.push("0");
  return [...groups, ...last].slice(0, 4).join(":");
}

function tooManyFailures(waitMs: number): HookError {
  return new HookError("too_many_failures", { headers: { "Retry-After": String(Math.ceil(waitMs / 1000)) } });
}
