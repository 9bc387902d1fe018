import type { TransformFailureKind } from "../../errors.ts";
import { isObject, parseObject } from "../../shared/json.ts";
import type { LogLine } from "../../types.ts";

/** How a job ended. A `value` that is undefined keeps the base. */
export type Answer = { kind: "value"; value?: unknown; log: LogLine[] } | FailedAnswer;

export interface FailedAnswer {
  kind: TransformFailureKind;
  message: string;
  /** In positions of the bundle. */
  stack?: string;
  log: LogLine[];
}

/** In UTF-16 code units of the result's JSON. */
export const MAX_RESULT_LENGTH = 1024 * 1024;

const LEVELS: readonly unknown[] = ["debug", "log", "info", "warn", "error"];
const FAILURES: TransformFailureKind[] = ["threw", "bad_result", "unsettled", "timeout", "memory", "crashed"];

/** Reads what a child wrote. Code that broke out of an isolate could have written it, so nothing is trusted. */
export function parseAnswer(text: string): Answer {
  const answer = parseObject(text);
  const log = Array.isArray(answer["log"]) ? answer["log"].filter(isLogLine) : [];
  if (answer["kind"] === "value") return { kind: "value", value: answer["value"], log };
  return {
    kind: FAILURES.find((kind) => kind === answer["kind"]) ?? "crashed",
    message: readText(answer["message"]) || "The sandbox gave an invalid answer.",
    stack: readText(answer["stack"]),
    log,
  };
}

function isLogLine(line: unknown): line is LogLine {
  return isObject(line) && LEVELS.includes(line["level"]) && typeof line["text"] === "string";
}

function readText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
