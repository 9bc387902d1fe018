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

/** A name that the operator wrote appears in summaries outside the safety boundary, so it is only one line. */
export function toOneLine(name: string): string {
  const line = name.replace(/[\s\p{Cc}]+/gu, " ").trim();
  if (line.length <= MAX_NAME_LENGTH) return line;
  return Array.from(line.slice(0, 2 * MAX_NAME_LENGTH))
    .slice(0, MAX_NAME_LENGTH)
    .join("")
    .trim();
}

/** Other names that people know a channel by. */
const CHANNEL_ALIASES = new Map<string, string>([
  ["imsg", "imessage"],
  ["teams", "msteams"],
]);

/** The usual name of a channel: `teams` → `msteams`. */
export function toChannelName(name: string): string {
  return CHANNEL_ALIASES.get(name) ?? name;
}
