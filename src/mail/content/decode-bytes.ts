/** What Japanese text in seven bits begins with. */
const ESCAPE = "\u001b$";
/** How far into a mail a charset is looked for. */
const LOOK_INTO = 65_536;

const MOST_LABELS = 50;
/** `charset="koi8-r"` or `=?koi8-r?` */
const LABEL = /charset\s*=\s*["']?([\w.:-]{1,40})|=\?([\w.:-]{1,40})[?*]/gi;

/** Text whose charset nobody declared: UTF-8 where it is, ISO-2022-JP where its escapes say so, else `charset`. */
export function decodeBytes(bytes: Buffer, charset: string): string {
  if (bytes.includes(ESCAPE)) return new TextDecoder("iso-2022-jp").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder(charset).decode(bytes);
  }
}

/** The charset that a mail speaks of first, of those that 8-bit text may be in; windows-1252 where it names none. */
export function guessCharset(source: Buffer): string {
  const start = source.toString("latin1", 0, LOOK_INTO);
  const labels = Array.from(start.matchAll(LABEL), ([, declared, word]) => declared ?? word ?? "");
  const charsets = labels.slice(0, MOST_LABELS).map(toCharset);
  return charsets.find((charset) => charset && !/^(?:utf-|iso-2022-)/.test(charset)) ?? "windows-1252";
}

/** The name that this runtime has for a charset; undefined where it cannot decode it. */
function toCharset(label: string): string | undefined {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}
