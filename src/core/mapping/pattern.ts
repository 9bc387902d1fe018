import type { ValuePattern } from "../config/schema/generated.ts";
import { compileExpression, type Expression } from "../config/schema/linear-regexp.ts";
import { messageOf } from "../errors.ts";
import { ExactNumber, mayBeRounded } from "../shared/exact-json.ts";
import { isObject, parsePath, type Path, readPath } from "../shared/json.ts";
import type { Diagnostics } from "./diagnostics.ts";

/** Whether a value is the one that a pattern describes. A list matches if one of its scalars does, a missing value never. */
export type ValueTest = (value: unknown) => boolean;

/** `key`: where the pattern is written, below the mapping. */
export function compilePattern(pattern: ValuePattern, key: string, diagnostics: Diagnostics): ValueTest {
  if (isObject(pattern)) {
    const matches = compilePattern(pattern.not, `${key}.not`, diagnostics);
    return (value) => !matches(value);
  }
  const tests = [pattern].flat().map((one) => compileScalar(one, key, diagnostics));
  return (value) => [value].flat().some((one) => tests.some((test) => test(one)));
}

function compileScalar(pattern: string | number | boolean | null, key: string, diagnostics: Diagnostics): ValueTest {
  if (typeof pattern !== "string") return (value) => (value instanceof ExactNumber ? Number(value) : value) === pattern;
  const matches = compileText(pattern, key, diagnostics);
  return (value) => {
    if (typeof value === "string") return matches(value);
    return ["number", "boolean"].includes(typeof value) || value instanceof ExactNumber
      ? matches(String(value))
      : false;
  };
}

const EXPRESSION = /^\/(.+)\/([a-z]*)$/s;

function compileText(pattern: string, key: string, diagnostics: Diagnostics): (text: string) => boolean {
  const [, body, flags = ""] = EXPRESSION.exec(pattern) ?? [];
  if (body !== undefined) {
    const expression = compileWrittenExpression(body, flags, key, diagnostics);
    return (text) => expression.test(text);
  }
  const pieces = pattern.split("*");
  return (text) => matchesPieces(text, pieces);
}

function compileWrittenExpression(body: string, flags: string, key: string, diagnostics: Diagnostics): Expression {
  try {
    // `g` and `y` keep state between two tests, so they would match every other request only.
    if (/^[imsu]*$/.test(flags)) return compileExpression(body, flags);
    diagnostics.problem(key, `The flags of a regular expression can be i, m, s and u, not "${flags}".`);
  } catch (error) {
    diagnostics.problem(key, `The regular expression is not valid: ${messageOf(error)}.`);
  }
  return /(?!)/;
}

/** Tests a text against patterns in which `*` stands for any characters, without regard to case, in linear time. */
export function compileGlobs(globs: readonly string[]): (text: string) => boolean {
  const patterns = globs.map((glob) => glob.toLowerCase().split("*"));
  return (text) => {
    const lower = text.toLowerCase();
    return patterns.some((pieces) => matchesPieces(lower, pieces));
  };
}

/** Tests the name of a call against a grant: names that differ in case are two calls. */
export function compileCallPattern(pattern: string): (fullName: string) => boolean {
  const pieces = pattern.split("*");
  return (fullName) => matchesPieces(fullName, pieces);
}

/** Whether the pieces occur in order, the first at the start and the last at the end. */
function matchesPieces(text: string, [first = "", ...others]: readonly string[]): boolean {
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of others) {
    const found = text.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return text.length - at >= last.length && text.endsWith(last);
}

/**
 * Parses the path of values in a payload, which may start at its fields or at `payload`. `a[*].b` gives two paths: where the
 * list is, and where the value is in each of its items. undefined: the text is no path.
 */
export function parsePayloadPath(text: string): Path[] | undefined {
  const keys = parsePath(text);
  return keys && splitAtStars(keys[0] === "payload" ? keys.slice(1) : keys);
}

function splitAtStars(keys: Path): Path[] {
  const star = keys.indexOf("*");
  return star === -1 ? [keys] : [keys.slice(0, star), ...splitAtStars(keys.slice(star + 1))];
}

/** Whether a value is a number that JavaScript may have rounded. */
export function isLongNumber(value: unknown): boolean {
  return typeof value === "number" && mayBeRounded(JSON.stringify(value));
}

/** The values at a path of `parsePayloadPath`, and the items of one that is a list. */
export function readValues(payload: unknown, [first = [], ...rest]: Path[]): unknown[] {
  const value = readPath(payload, first);
  if (rest.length === 0) return [value].flat();
  return Array.isArray(value) ? value.flatMap((item) => readValues(item, rest)) : [];
}
