/** A longer quote is cut to its first lines. */
const MAX_QUOTED_LINES = 6;
const KEPT_QUOTED_LINES = 2;
const MAX_URL_LENGTH = 120;
const KEPT_URL_LENGTH = 80;

/** A line after which some programs repeat the whole mail that is answered. */
const ORIGINAL =
  /^-{2,}\s*(?:original message|urspr\u00fcngliche nachricht|message d'origine|mensaje original)\s*-{2,}\s*$/i;

/** A mail's text with long quotes and long addresses shortened. Says what is left out. */
export function toBrief(text: string): string {
  const lines = text.split("\n");
  const original = lines.findIndex((line) => ORIGINAL.test(line.slice(0, 100)));
  // Without a text before it, the repeated mail is what was sent.
  const hasOwn = lines.slice(0, original).some((line) => line.trim() !== "" && !line.startsWith(">"));
  const own = original > 0 && hasOwn ? lines.slice(0, original) : lines;
  const brief = shortenQuotes(own);
  if (own !== lines) brief.push(`[… ${lines.length - original} lines of the mail that this one answers]`);
  return brief.map(shortenUrls).join("\n");
}

function shortenQuotes(lines: string[]): string[] {
  const brief: string[] = [];
  for (let at = 0; at < lines.length;) {
    let end = at;
    while (lines[end]?.startsWith(">")) end += 1;
    if (end - at > MAX_QUOTED_LINES) {
      brief.push(...lines.slice(at, at + KEPT_QUOTED_LINES), `> [… ${end - at - KEPT_QUOTED_LINES} more quoted lines]`);
    } else {
      brief.push(...lines.slice(at, Math.max(end, at + 1)));
    }
    at = Math.max(end, at + 1);
  }
  return brief;
}

function shortenUrls(line: string): string {
  return line.replaceAll(/https?:\/\/[^\s<>"\])]+/gi, (url) =>
    url.length > MAX_URL_LENGTH ? `${url.slice(0, KEPT_URL_LENGTH)}…` : url,
  );
}
