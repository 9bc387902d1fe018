import type { LogLine } from "../../../types.ts";
import { type Answer, MAX_RESULT_LENGTH } from "../answer.ts";
import { describeThrown } from "./describe-thrown.ts";

/** Makes the answer of what a transform returned. Getters and `toJSON` of the value run in here, and may throw. */
export function writeResult(value: unknown, takeLog: () => LogLine[]): string {
  if (value === undefined) return JSON.stringify({ kind: "unchanged", log: takeLog() } satisfies Answer);
  let json: string | undefined;
  try {
    json = JSON.stringify(value) as string | undefined;
  } catch (thrown) {
    return refuse(describeThrown(thrown), takeLog);
  }
  if (json === undefined) return refuse(sentence(`JSON cannot carry a ${typeof value}.`), takeLog);
  if (json.length > MAX_RESULT_LENGTH) {
    return refuse(
      sentence(`It has ${json.length} characters as JSON, over the limit of ${MAX_RESULT_LENGTH}.`),
      takeLog,
    );
  }
  return `{"kind":"value","log":${JSON.stringify(takeLog())},"value":${json}}`;
}

function sentence(message: string): { message: string; stack: string } {
  return { message, stack: "" };
}

function refuse({ message, stack }: { message: string; stack: string }, takeLog: () => LogLine[]): string {
  const answer: Answer = {
    kind: "bad_result",
    message: `The transform returned what is no JSON value. ${message}`,
    stack,
    log: takeLog(),
  };
  return JSON.stringify(answer);
}
