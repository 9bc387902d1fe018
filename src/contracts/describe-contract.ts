import { within } from "./within.ts";

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
