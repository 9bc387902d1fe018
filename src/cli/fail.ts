import { ConfigError, HookError, toSentence } from "../errors.ts";

/** The one way out with an error: what the operator must mend, line by line; anything else with its stack. */
export function fail(error: unknown): void {
  console.error(describeError(error));
  process.exitCode = 1;
}

/** An error as the terminal shows it. */
export function describeError(error: unknown): string {
  if (error instanceof ConfigError) {
    return error.problems
      .map((problem) => [toSentence(problem), problem.excerpt].filter(Boolean).join("\n"))
      .join("\n");
  }
  if (error instanceof HookError) return `${error.status} ${error.code}: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
