import { type Failure, toCause } from "../shared/text/cause.ts";

const MAX_LENGTH = 300;

const IDS = /\b(?:[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|(?=[\da-f]*\d)[\da-f]{12,})\b/gi;
/** Not the apostrophe of a word. */
const QUOTED = /(?<!\w)(["'`]).{1,200}?\1(?!\w)/g;
/** Not the status of an answer, at the start, after such a word or before a colon: 401 and 503 are different failures. */
const NUMBERS = /(?<![\w.])(?!(?:(?<=^|(?:answered|status|code|HTTP) )[45]\d\d(?![\d.])|[45]\d\d:))\d[\d.,]*/g;

/** The first line of an error without its ids, numbers and quoted texts: the same for all failures of one kind. */
export function toErrorGroup(error: string): string {
  const [line = ""] = error.slice(0, 4 * MAX_LENGTH).split("\n", 1);
  return line.replaceAll(IDS, "…").replaceAll(QUOTED, "“…”").replaceAll(NUMBERS, "…").slice(0, MAX_LENGTH);
}

/** The same for all failed requests of one cause. */
export function toFailureGroup(failure: Failure): string {
  const [error = "", ...place] = toCause(failure);
  return [toErrorGroup(error), ...place].join(" · ");
}
