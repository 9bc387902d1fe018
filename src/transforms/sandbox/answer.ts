import type { TransformFailureKind } from "../../errors.ts";
import { isObject, parseObject } from "../../shared/json.ts";
import type { LogLine } from "../../types.ts";

/** How a job ended. A `value` that is undefined keeps the base. */
export type Answer = { kind: "value"; value?: unknown; log: LogLine[]; runMs?: number } | FailedAnswer;

export interface FailedAnswer {
  kind: TransformFailureKind;
  message: string;
  /** In positions of the bundle. */
  stack?: string;
  log: LogLine[];
  /** If another call can succeed after that time. */
  retryAfterMs?: number;
}

/** In UTF-16 code units of the result's JSON. */
export const MAX_RESULT_LENGTH = 1024 * 1024;

/** What reads a result later recurses, so it must not be nested so deep that the stack ends. */
const MAX_DEPTH = 1000;
const TOO_DEEP = `The transform's result is not JSON. It is nested more than ${MAX_DEPTH} levels deep.`;

const LEVELS: readonly unknown[] = ["debug", "log", "info", "warn", "error"];
const FAILURES: TransformFailureKind[] = ["threw", "bad_result", "unsettled", "timeout", "memory", "crashed"];

/** Reads what a child wrote. Code that broke out of an isolate could have written it, so nothing is trusted. */
export function parseAnswer(text: string, micros?: unknown): Answer {
  const answer = parseObject(text);
  const log = Array.isArray(answer["log"]) ? answer["log"].filter(isLogLine) : [];
  if (answer["kind"] === "value") {
    if (isDeeperThan(MAX_DEPTH, answer["value"])) return { kind: "bad_result", message: TOO_DEEP, log };
    return { kind: "value", value: answer["value"], log, runMs: Math.max(0, Number(micros) / 1000 || 0) };
  }
  return {
    kind: FAILURES.find((kind) => kind === answer["kind"]) ?? "crashed",
    message: readText(answer["message"]) || "The sandbox gave an invalid answer.",
    stack: readText(answer["stack"]),
    log,
  };
}

/** Level by level, without recursion. */
function isDeeperThan(depth: number, value: unknown): boolean {
  let level: unknown[] = [value];
  for (let left = depth; left >= 0 && level.length > 0; left--) {
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return level.length > 0;
}

function isLogLine(line: unknown): line is LogLine {
  return isObject(line) && LEVELS.includes(line["level"]) && typeof line["text"] === "string";
}

function readText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
