/** Most characters of a header's value that are kept: the longest line that RFC 5322 allows. */
const LONGEST_LINE = 998;

/** Text as a mail's body may hold it: line feeds alone, no other control character but tab, no half of a character. */
export function cleanText(text: string): string {
  return text
    .replaceAll(/\r\n?|[\u0085\u2028\u2029]/g, "\n")
    .replaceAll(/[\p{Cc}--[\n\t]]/gv, "")
    .toWellFormed();
}

/** A header's value as a field may hold it: one line, bounded. */
export function cleanLine(text: string, mostCharacters: number = LONGEST_LINE): string {
  const line = cleanText(text).replaceAll(/\s+/g, " ").trim();
  // A cut may leave half of a character, which `isWellFormed` tells from the replacement that a mail may hold itself.
  const cut = line.slice(0, mostCharacters);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

/** As much of a text as fits into so many bytes of UTF-8, never cut within a character. */
export function cutBytes(text: string, mostBytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(mostBytes));
  return text.slice(0, read);
}
