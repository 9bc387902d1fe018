import type { LogLine } from "../../types.ts";
import type { TransformFailureKind } from "../port.ts";

/** How a job ended, as the isolate or its child put it. */
export type Answer =
  | { kind: "unchanged"; log: LogLine[] }
  | { kind: "value"; value: unknown; log: LogLine[] }
  | FailedAnswer;

export interface FailedAnswer {
  kind: TransformFailureKind;
  message: string;
  /** The stack in positions of the bundle. */
  stack?: string;
  log: LogLine[];
}

/** The longest result, in UTF-16 code units of its JSON. */
export const MAX_RESULT_LENGTH = 1024 * 1024;

/** The longest frame a child may send, in bytes: a result of which every unit needs three, the log and the rest. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
