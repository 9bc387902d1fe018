import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { DriverError, messageOf } from "../core/errors.ts";
import { withTimeout } from "../core/shared/time.ts";

/** The part of `vitest`, `node:test` and similar runners that the suites use. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown;
  test(name: string, body: () => Promise<void>): unknown;
}

/** Shared by the objects that suites test. */
export interface UnderTest {
  /** Closes the driver and the server that was started for it. */
  close(): Promise<void>;
}

/** Checks by test title. A check throws when the driver breaks the contract. */
export type Checks<Subject> = Record<string, (subject: Subject) => Promise<void>>;

/** Longer than a correct driver takes on a busy machine, so that one that hangs fails by itself. */
const CHECK_TIMEOUT_MS = 60_000;

/** Registers one test per check. Each test opens its own subject. */
export function describeContract<Subject extends UnderTest>(
  { describe, test }: TestRunner,
  { title, open, checks }: { title: string; open: () => Promise<Subject>; checks: Checks<Subject> },
): void {
  describe(title, () => {
    for (const [name, check] of Object.entries(checks)) {
      test(name, async () => {
        const subject = await open();
        try {
          await settleWithin(CHECK_TIMEOUT_MS, check(subject), "The driver did not finish.");
        } finally {
          await subject.close();
        }
      });
    }
  });
}

/** Settles like the promise. Rejects with `message` when that takes longer. */
function settleWithin<Result>(timeoutMs: number, promise: Promise<Result>, message: string): Promise<Result> {
  return withTimeout(() => promise, { timeoutMs, timeoutError: () => new Error(message) });
}

/** The `DriverError` that a promise rejects with. Throws when it resolves or rejects with something else. */
export function failureOf(promise: Promise<unknown>): Promise<DriverError> {
  return rejectionOf(promise, DriverError);
}

export async function rejectionOf<Expected extends Error>(
  promise: Promise<unknown>,
  kind: new (...parts: never[]) => Expected,
): Promise<Expected> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof kind) return error;
    throw new Error(`Expected a ${kind.name}, got: ${messageOf(error)}`, { cause: error });
  }
  throw new Error(`Expected a ${kind.name}, but the call succeeded.`);
}

/** Much longer than a busy machine needs, and shorter than the timeouts of most libraries. */
const SOON_MS = 10_000;

/** Rejects with `message` unless the promise settles within a few seconds. */
export function settlesSoon<Result>(promise: Promise<Result>, message: string): Promise<Result> {
  return settleWithin(SOON_MS, promise, message);
}

/** Aborts a call that waits for a silent server. Throws unless the call then rejects soon with a retryable error. */
export async function assertAborts(
  call: (signal: AbortSignal) => Promise<unknown>,
  requestCount: () => number,
): Promise<void> {
  const controller = new AbortController();
  const failed = failureOf(call(controller.signal));
  await waitFor(() => requestCount() === 1, "The server received no request.");
  controller.abort();
  const failure = await settlesSoon(failed, "The driver continued after the abort.");
  assert.equal(failure.retryable, true);
}

const WAIT_TIMEOUT_MS = 30_000;
const POLL_MS = 10;

/** Resolves when the condition holds. Rejects with `message` after half a minute. */
async function waitFor(condition: () => boolean, message: string): Promise<void> {
  const startedAt = performance.now();
  while (!condition()) {
    if (performance.now() - startedAt > WAIT_TIMEOUT_MS) throw new Error(message);
    await sleep(POLL_MS);
  }
}
