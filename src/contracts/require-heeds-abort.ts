import assert from "node:assert/strict";
import { failureOf } from "./failure-of.ts";
import { until } from "./until.ts";
import { within } from "./within.ts";

/** Far more than a busy machine takes, and less than what most libraries wait for an answer, in milliseconds. */
const SOON_MS = 5000;

/** Aborts a call that has reached a silent server; throws unless it then fails soon, and for a passing reason. */
export async function requireHeedsAbort(
  call: (signal: AbortSignal) => Promise<unknown>,
  requestCount: () => number,
): Promise<void> {
  const abort = new AbortController();
  const failed = failureOf(call(abort.signal));
  await until(() => requestCount() === 1, "The server got no request.");
  abort.abort();
  assert.equal((await within(SOON_MS, failed, "The driver went on after the abort.")).kind, "passing");
}
