import { HookError } from "../errors.ts";
import { createThrottle } from "./throttle.ts";

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
  return new HookError(429, "too_many_failures", "Too many failed credentials from this address.", {
    headers: { "Retry-After": String(Math.ceil(waitMs / 1000)) },
  });
}
