import leven from "leven";

/** The first `maxLength` UTF-16 code units of a text, one less where the cut would split a surrogate pair. */
export function cutText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, "");
}

/** The first items whose sizes add up to at most `maxSize`. */
export function takeWithin<Item>(items: Item[], maxSize: number, sizeOf: (item: Item) => number): Item[] {
  let size = 0;
  const firstOver = items.findIndex((item) => (size += sizeOf(item)) > maxSize);
  return firstOver === -1 ? items : items.slice(0, firstOver);
}

/** A rendered text for an agent to read, of at most `maxLength` characters; undefined: the text stays as it is. */
export function tidyText(text: string | undefined, maxLength: number | undefined): string | undefined {
  if (text === undefined || maxLength === undefined) return text;
  // A regular expression for spaces at line ends would take quadratic time.
  const lines = text.split("\n").map((line) => line.trimEnd());
  const tidy = lines
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  return tidy.length <= maxLength ? tidy : cutAtLine(tidy, maxLength);
}

/** Cuts at the end of a line, or of a word where the last line is long, and says that there is more. */
function cutAtLine(text: string, maxLength: number): string {
  const cut = cutText(text, maxLength - NOTE.length);
  const at = [cut.lastIndexOf("\n"), cut.lastIndexOf(" ")].find((end) => end > cut.length * 0.8);
  return cut.slice(0, at).trimEnd() + NOTE;
}

const NOTE = "\n\n(The text was cut here.)";

const MAX_NAME_LENGTH = 80;
const MAX_SUBJECT_LENGTH = 160;
/** White space within counts once. */
const READ_OF_SUBJECT = 2 * MAX_SUBJECT_LENGTH;

/** The subject of an event, for lists; undefined if it is blank. */
export function toSubject(text = ""): string | undefined {
  return toOneLine(text.trimStart().slice(0, READ_OF_SUBJECT), MAX_SUBJECT_LENGTH) || undefined;
}

/** The same of the first line that has text. */
export function toFirstLine(text: string): string | undefined {
  return toSubject(text.trimStart().slice(0, READ_OF_SUBJECT).split("\n", 1)[0]);
}

/** A name that the operator wrote appears in summaries outside the safety boundary, so it is only one line. */
export function toOneLine(name: string, maxLength = MAX_NAME_LENGTH): string {
  const line = name.replace(/[\s\p{Cc}]+/gu, " ").trim();
  if (line.length <= maxLength) return line;
  let end = 0;
  for (let count = 0; count < maxLength && end < line.length; count++) end += line.codePointAt(end)! > 0xffff ? 2 : 1;
  return line.slice(0, end).trim();
}

/** `tickets.show` is a call of the tool set `tickets`. */
export function toolSetOf(call: string): string {
  return call.split(".", 1)[0] ?? "";
}

/** A sentence of another program, which may end without a period. */
export function withPeriod(sentence: string): string {
  return /[.?!]$/.test(sentence) ? sentence : `${sentence}.`;
}

/**
 * The end of a sentence about an unknown name, with its mark: `; did you mean "token"?`. If no known name is similar,
 * `otherwise`: by default a list of them all.
 */
export function didYouMean(name: string, known: readonly string[], otherwise = listKnown(known)): string {
  const nearest = findNearest(name, known, maxDistance);
  return nearest === undefined ? otherwise : `; did you mean "${nearest}"?`;
}

/** The known name that differs least from the name, if that is at most `max` typing errors. */
export function findNearest(
  name: string,
  known: readonly string[],
  max: (candidate: string) => number,
): string | undefined {
  if (name.length > MAX_WORD) return undefined;
  const [nearest] = known
    .map((candidate) => ({ candidate, distance: countErrors(name.toLowerCase(), candidate.toLowerCase()) }))
    .toSorted((one, other) => one.distance - other.distance);
  return nearest && nearest.distance <= max(nearest.candidate) ? nearest.candidate : undefined;
}

/** Comparing a longer text would take too long. */
const MAX_WORD = 64;

/** Two letters in the wrong order are one typing error. */
function countErrors(name: string, candidate: string): number {
  const swapped = Array.from(
    name.slice(1),
    (letter, index) => name.slice(0, index) + letter + name[index] + name.slice(index + 2),
  );
  return Math.min(leven(name, candidate), ...swapped.map((text) => 1 + leven(text, candidate)));
}

/** Two typing errors, or half of a longer name: `transforms` for `transformsDir`. */
function maxDistance(candidate: string): number {
  return Math.max(2, Math.floor(candidate.length / 2));
}

function listKnown(known: readonly string[]): string {
  return known.length === 0 ? "." : `; known here: ${known.join(", ")}.`;
}

/** The text without white space at its ends; undefined if nothing is left. */
export function blankToUndefined(text: string | undefined): string | undefined {
  return text?.trim() || undefined;
}

/** `/hooks///` → `hooks` */
export function trimSlashes(text: string): string {
  return text.replace(/^\/+|\/+$/g, "");
}
