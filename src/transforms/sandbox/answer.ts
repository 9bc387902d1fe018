import { parseObject } from "../../shared/json.ts";
import type { LogLine } from "../../types.ts";
import type { TransformFailureKind } from "../../errors.ts";

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

const LEVELS: readonly unknown[] = ["debug", "log", "info", "warn", "error"];
const FAILURES: TransformFailureKind[] = ["threw", "bad_result", "unsettled", "timeout", "memory", "crashed"];

/** Reads what came out of a child. Whoever broke out of an isolate could have written it: nothing of it is taken on trust. */
export function parseAnswer(text: string): Answer {
  const answer = parseObject(text);
  const log = Array.isArray(answer["log"]) ? answer["log"].filter(isLogLine) : [];
  if (answer["kind"] === "unchanged") return { kind: "unchanged", log };
  if (answer["kind"] === "value") return { kind: "value", value: answer["value"], log };
  return {
    kind: FAILURES.find((kind) => kind === answer["kind"]) ?? "crashed",
    message: readText(answer["message"]) || "The sandbox gave an answer that makes no sense.",
    stack: readText(answer["stack"]),
    log,
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isLogLine(line: unknown): line is LogLine {
  return isObject(line) && LEVELS.includes(line["level"]) && typeof line["text"] === "string";
}

function readText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
