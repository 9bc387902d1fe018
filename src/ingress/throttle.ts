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
