import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { DriverError, messageOf } from "../errors.ts";

/** The part of `vitest`, `node:test` and their like that the suites need. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown;
  test(name: string, body: () => Promise<void>): unknown;
}

/** What every subject has beside its driver. */
export interface UnderTest {
  /** Ends the driver, and the server that was started for it. */
  close(): Promise<void>;
}

/** What a driver must do, by the sentence that says it. A check throws where the driver does not. */
export type Checks<Subject> = Record<string, (subject: Subject) => Promise<void>>;

/** Longer than an honest driver takes on a busy machine: one that hangs fails, and does not hold up the others. */
const LIMIT_MS = 20_000;

/** Makes a test of each check, with a subject of its own. */
export function describeContract<Subject extends UnderTest>(
  { describe, test }: TestRunner,
  { title, open, checks }: { title: string; open: () => Promise<Subject>; checks: Checks<Subject> },
): void {
  describe(title, () => {
    for (const [promise, check] of Object.entries(checks)) test(promise, () => run(open, check));
  });
}

async function run<Subject extends UnderTest>(
  open: () => Promise<Subject>,
  check: (subject: Subject) => Promise<void>,
): Promise<void> {
  const subject = await open();
  try {
    await within(LIMIT_MS, check(subject), "The driver did not come to an end.");
  } finally {
    await subject.close();
  }
}

/** What the promise resolves to; rejects with an `Error` of the given words where that takes longer. */
export async function within<Result>(milliseconds: number, promise: Promise<Result>, words: string): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(words)), milliseconds);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

const WAIT_LIMIT_MS = 10_000;
const PAUSE_MS = 10;

/** Resolves once the condition holds; rejects with an `Error` of the given words where that takes ten seconds. */
async function until(holds: () => boolean, words: string): Promise<void> {
  const startedAt = performance.now();
  while (!holds()) {
    if (performance.now() - startedAt > WAIT_LIMIT_MS) throw new Error(words);
    await sleep(PAUSE_MS);
  }
}

/** The `DriverError` that a promise rejects with; throws where it resolves, or rejects with anything else. */
export async function failureOf(promise: Promise<unknown>): Promise<DriverError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof DriverError) return error;
    throw new Error(`Expected a DriverError, not: ${messageOf(error)}`, { cause: error });
  }
  throw new Error("Expected a DriverError, but nothing failed.");
}

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
  assert.equal((await within(SOON_MS, failed, "The driver went on after the abort.")).retryable, true);
}
