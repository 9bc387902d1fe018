import type { TransformFailureKind } from "../../errors.ts";
import { isObject, isTooDeep, MAX_DEPTH, parseJson, toObject } from "../../shared/json.ts";
import { cutText, takeWithin } from "../../shared/text/text.ts";
import type { LogLine } from "../../types.ts";
import type { StateSet, TransformOutcome } from "../runner.ts";

/** How a job ended. A `value` that is undefined keeps the base. */
export type Answer = GivenAnswer | FailedAnswer;

interface GivenAnswer extends Pick<TransformOutcome, "log" | "unread" | "sets"> {
  kind: "value";
  value?: unknown;
  runMs?: number;
}

export interface FailedAnswer {
  kind: TransformFailureKind;
  message: string;
  /** In positions of the bundle. */
  stack?: string;
  log: LogLine[];
  /** If another call can succeed after that time. */
  retryAfterMs?: number;
}

/** The limits of one call's log. */
export const MAX_LOG = { lines: 100, characters: 16 * 1024 };
export const LOG_FULL: LogLine = {
  level: "warn",
  text: `The rest of the log was dropped: a call can write ${MAX_LOG.lines} lines and ${MAX_LOG.characters} characters.`,
};

/** In UTF-16 code units of the result's JSON. */
export const MAX_RESULT_LENGTH = 1024 * 1024;

/** A value of the state, as JSON in UTF-8. */
export const MAX_STATE_BYTES = 16 * 1024;
export const MAX_STATE_KEY_LENGTH = 500;

/** A text that every store keeps as it is. */
export function isStateKey(key: unknown): key is string {
  return (
    typeof key === "string" &&
    key !== "" &&
    key.length <= MAX_STATE_KEY_LENGTH &&
    key.isWellFormed() &&
    !key.includes("\0")
  );
}

/** Depth is limited: later readers of the result recurse, and their stack must not end. */
const TOO_DEEP = `The transform's result is not JSON. It is nested more than ${MAX_DEPTH} levels deep.`;

const LEVELS: readonly unknown[] = ["debug", "log", "info", "warn", "error"];
const FAILURES: TransformFailureKind[] = [
  "threw",
  "bad_result",
  "bad_payload",
  "unsettled",
  "timeout",
  "memory",
  "crashed",
];

/**
 * Reads the answers to `count` jobs that took `micros` microseconds. Code that broke out of an isolate could have written them, so
 * nothing is trusted.
 */
export function parseAnswers(text: string, count: number, micros?: unknown): Answer[] {
  const parsed = parseJson(text);
  const answers: unknown[] = Array.isArray(parsed) ? parsed : [];
  const runMs = Math.max(0, Number(micros) / 1000 / count || 0);
  return Array.from({ length: count }, (_, index) => readAnswer(toObject(answers[index]), runMs));
}

function readAnswer(answer: Record<string, unknown>, runMs: number): Answer {
  const log = readLog(answer["log"]);
  if (answer["kind"] === "value") {
    const { value, unread, sets = [] } = answer;
    if (isTooDeep(value)) return { kind: "bad_result", message: TOO_DEEP, log };
    if (isStateKey(unread)) return { kind: "value", unread, log, runMs };
    if (Array.isArray(sets) && sets.every(isStateSet)) {
      return { kind: "value", value, ...(sets.length > 0 && { sets }), log, runMs };
    }
  }
  return {
    kind: FAILURES.find((kind) => kind === answer["kind"]) ?? "crashed",
    message: cutText(readText(answer["message"]), MAX_LOG.characters) || "The sandbox gave an invalid answer.",
    stack: cutText(readText(answer["stack"]), MAX_LOG.characters),
    log,
  };
}

function isStateSet(set: unknown): set is StateSet {
  if (!isObject(set) || !isStateKey(set["key"])) return false;
  const { json, ttlMs } = set;
  const hasTtl = ttlMs === undefined || (Number.isSafeInteger(ttlMs) && Number(ttlMs) > 0);
  return hasTtl && (json === undefined || (typeof json === "string" && isStateValue(json)));
}

function isStateValue(json: string): boolean {
  return Buffer.byteLength(json) <= MAX_STATE_BYTES && parseJson(json) !== undefined;
}

/** The realm has the same limits, but under strict isolation a transform can change the realm. */
function readLog(lines: unknown): LogLine[] {
  if (!Array.isArray(lines)) return [];
  const valid = lines.filter(isLogLine).slice(0, MAX_LOG.lines + 1);
  return takeWithin(valid, MAX_LOG.characters + LOG_FULL.text.length, ({ text }) => text.length);
}

/** The same without the values of the transform's secrets, which are neither stored nor shown. */
export function withoutSecrets(answer: Answer, secrets: Record<string, string>): Answer {
  const hidden = Object.entries(secrets).flatMap(([name, value]) => {
    const forms = value.length < MIN_SECRET_LENGTH ? [] : [value, JSON.stringify(value).slice(1, -1)];
    return forms.map((form) => [form, `[secret ${name}]`] as const);
  });
  if (hidden.length === 0) return answer;
  const hide = (text: string): string =>
    hidden.reduce((rest, [form, label]) => rest.replaceAll(form, () => label), text);
  const log = answer.log.map(({ level, text }) => ({ level, text: hide(text) }));
  if (answer.kind === "value") return { ...answer, log };
  return { ...answer, log, message: hide(answer.message), stack: hide(answer.stack ?? "") };
}

/** Shorter values are in ordinary words. */
const MIN_SECRET_LENGTH = 4;

function isLogLine(line: unknown): line is LogLine {
  return isObject(line) && LEVELS.includes(line["level"]) && typeof line["text"] === "string";
}

function readText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

const MAX_MESSAGE_LENGTH = 2000;
const MAX_STACK_LENGTH = 10_000;

/** Message and stack of anything thrown. Never throws, whatever traps the value contains. */
export function describeThrown(thrown: unknown): { message: string; stack: string } {
  if (thrown === null || typeof thrown !== "object") {
    return { message: `Threw ${describeOther(thrown)}.`, stack: "" };
  }
  const name = readProperty(thrown, "name");
  const message = readProperty(thrown, "message");
  const stack = readProperty(thrown, "stack").slice(0, MAX_STACK_LENGTH);
  if (!name && !message) return { message: `Threw ${describeObject(thrown)}.`, stack };
  return { message: (message ? `${name || "Error"}: ${message}` : name).slice(0, MAX_MESSAGE_LENGTH), stack };
}

function describeOther(thrown: unknown): string {
  if (typeof thrown === "string") return `the string ${JSON.stringify(thrown.slice(0, MAX_MESSAGE_LENGTH))}`;
  if (typeof thrown === "function") return "a function";
  const kind = thrown === null || thrown === undefined ? "" : `the ${typeof thrown} `;
  return `${kind}${String(thrown)}`.slice(0, MAX_MESSAGE_LENGTH);
}

function describeObject(thrown: object): string {
  try {
    const json: unknown = JSON.stringify(thrown);
    if (typeof json === "string") return `the object ${json}`.slice(0, MAX_MESSAGE_LENGTH);
  } catch {
    // A cycle, a getter or a trap.
  }
  return "an object that JSON cannot represent";
}

/** The property if it is a readable string; a getter or a proxy may throw. */
function readProperty(value: object, key: string): string {
  try {
    const text: unknown = Reflect.get(value, key);
    return typeof text === "string" ? text : "";
  } catch {
    return "";
  }
}
