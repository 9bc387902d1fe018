import { DAY_MS, HOUR_MS } from "../shared/time.ts";

/*
 * Waiting rows are due at `not_before`. If the clock was set back since, they are due at once. Signs of that: an
 * arrival in the future, in SQLite also a try in the future, or a wait that is longer than any can be. The order is by
 * arrival.
 */

/** Clocks are also corrected by a little: that ends no wait. In milliseconds, as all are. */
export const MAX_CORRECTION_MS = 60_000;
/** Longer than any wait of a retry: `MAX_RETRY_AFTER_MS` of `dispatch/retry.ts` is an hour. */
export const MAX_RETRY_MS = 2 * HOUR_MS;
/** The longest wait of a run whose window is open. */
export const MAX_WINDOW_MS = DAY_MS;
