import { messageOf } from "../../errors.ts";
import type { LogLine } from "../../types.ts";
import { describeThrown } from "../realm/thrown.ts";
import type { FailedAnswer } from "../sandbox/answer.ts";

interface Attempt {
  log: LogLine[];
  timeoutMs: number;
  /** The module's code ran, and its isolate still exists. */
  isEntered: boolean;
}

/** The answer to a job that ended its isolate. */
export function toFailure(error: unknown, { log, timeoutMs, isEntered }: Attempt): FailedAnswer {
  const message = messageOf(error);
  if (message === "Script execution timed out.") {
    return { kind: "timeout", message: `The transform ran longer than ${timeoutMs} ms.`, log };
  }
  // The realm catches what a transform throws, so this is a promise that was rejected and that nobody awaits.
  if (isEntered) return { kind: "threw", ...describeThrown(error), log };
  if (message.includes("memory limit")) {
    return { kind: "memory", message: "The transform exceeded its memory limit.", log };
  }
  return crashed(message, log);
}

export function crashed(reason: string, log: LogLine[]): FailedAnswer {
  return { kind: "crashed", message: `The sandbox could not run the transform: ${reason}`, log };
}
