/** Offsets in a text, the end excluded. */
export interface Range {
  start: number;
  end: number;
}

/** Parts of a Markdown text, each list in order. */
export interface Certain {
  /** Code and addresses for every parser. */
  kept: Range[];
  /** Parts of `kept` between three backticks and three others, without blanks. */
  fences: Range[];
  /** Parts that one parser may show as code or HTML, and another as text. */
  unsure: Range[];
}

/**
 * Finds the code and the addresses that every Markdown parser finds, whatever its extensions are. Parsers disagree about
 * tables, footnotes, HTML, math and marks without a partner: a text with such things has fewer certain parts.
 */
export function findCertain(text: string): Certain {
  const found: Certain = { kept: [], fences: [], unsure: [] };
  const lines = toLines(text);
  let isPlain = true;
  let isAligned = true;
  if (hasFrontMatter(text)) return { ...found, unsure: [{ start: 0, end: text.length }] };
  for (let at = 0; at < lines.length; at += 1) {
    const chunk = takeChunk(lines, at);
    const isHtml = chunk.some((line) => TAG_LINE.test(line.text));
    const isIndented: boolean = isPlain && chunk.length > 0 && chunk.every((line) => line.text.startsWith("    "));
    if (isIndented) found.kept.push(...chunk);
    else addInline(text, chunk, { found, isHtml });
    // GitLab's expression for code may begin in such a line, and end in what is certainly code.
    isAligned &&= !chunk.some((line) => /^[`<]/.test(line.text));
    isPlain &&= isIndented || chunk.every((line) => PARAGRAPH_LINE.test(line.text));
    at += chunk.length;
    const next = lines[at];
    if (!next?.text) continue;
    const fence = isHtml ? undefined : findFence(lines, at);
    if (!fence) {
      found.unsure.push({ start: next.start, end: text.length });
      break;
    }
    found.kept.push(...fence.body);
    isPlain &&= fence.isPlain;
    isAligned &&= fence.isPlain;
    if (isAligned) found.fences.push(...fence.body);
    at += fence.body.length + 1;
  }
  return found;
}

interface Line extends Range {
  /** Without blanks at the end. */
  text: string;
}

function toLines(text: string): Line[] {
  let start = 0;
  return text.split("\n").map((line) => {
    const range = { start, end: start + line.length };
    start = range.end + 1;
    return { ...range, text: line.replace(/[ \t]{1,100}$/, "") };
  });
}

/** Marks of quotes, lists and headings, which may be before the text of a line. */
const MARKS = /^[\s>*+\-#\d.):|]*/.source;

/** Tags without attributes that only arrange text. No others are left in a comment. */
export const SAFE_TAGS = "b|br|code|dd|del|details|dl|dt|em|hr|i|ins|kbd|li|ol|p|pre|s|strong|sub|summary|sup|ul";

/** Begins a block of HTML, in which Markdown has no meaning. */
const TAG_LINE = new RegExp(`${MARKS}</?(?:${SAFE_TAGS})\\s*/?>`, "i");

/** Begins a block of code for some parser, defines something, or begins a block that may end in what seems to be code. */
const BREAK = new RegExp(`${MARKS}(?:\`{3}|~{3}|</?pre\\b|>>>[ \\t]*(?:$|\\[))|\\]:`, "i");

/** GitLab shows it as code. It may begin with a line that names a coding. */
function hasFrontMatter(text: string): boolean {
  const start = text.trimStart();
  const [line = ""] = start.split("\n", 1);
  return (
    FRONT_MATTER.test(line) || (line.includes("coding:") && FRONT_MATTER.test(start.slice(line.length).trimStart()))
  );
}

const FRONT_MATTER = /^(?:---|\+\+\+|;;;)/;

/** Code by indentation is certain only if nothing before could contain it: no list, no footnote, no quote. */
const PARAGRAPH_LINE = /^ {0,3}(?:#{1,6} |[\p{L}"'(])/u;

/** The lines up to one that is blank or breaks the text. */
function takeChunk(lines: Line[], from: number): Line[] {
  let end = from;
  for (let line = lines[end]; line?.text && !BREAK.test(line.text); line = lines[end]) end += 1;
  return lines.slice(from, end);
}

const FENCE = /^(?<prefix>(?:> ){0,2} {0,3})(?<marks>`{3,}|~{3,})[^`~<]*$/;

/** The code of a block that begins in a line. Undefined if it is not closed, or not by an equal line. */
function findFence(lines: Line[], at: number): { body: Line[]; isPlain: boolean } | undefined {
  const { prefix = "", marks = "" } = FENCE.exec(lines[at]?.text ?? "")?.groups ?? {};
  if (marks === "") return undefined;
  const blank = prefix.trimEnd();
  let end = at + 1;
  while (lines[end]?.text.replace(/^[\s>]*/, "").startsWith(marks) === false) end += 1;
  const body = lines.slice(at + 1, end);
  const last = lines[end];
  if (last?.text !== prefix + marks) return undefined;
  if (!body.every(({ text }) => text === blank || text.startsWith(prefix))) return undefined;
  // GitLab finds commands in a block of tildes or of more backticks, and in one with blanks behind its last line.
  return { body, isPlain: marks === "```" && prefix === "" && last.end === last.start + last.text.length };
}

/** Characters that nothing but an address uses, and no character reference. */
export const ADDRESS = "(?:[\\w\\-.~:/?#@!*+,;=%]|&(?![#\\w]+;))*";
/** In one line, and in one cell if the line belongs to a table. */
const CODE = "(?<![\\\\`])(?<marks>`+)[^`\\n|]+\\k<marks>(?!`)";
const BRACKETS = "\\[(?:[^[\\]`\\\\<$\\n|]|`[^`[\\]\\n|]+`(?!`))*\\]";
export const AUTOLINK = `<https?://${ADDRESS}>`;

/** Text in which each mark has its partner, so that no parser finds others. */
const SIMPLE = new RegExp(
  `^(?:[^\`[\\\\$<]|${CODE}|${BRACKETS}(?:\\(${ADDRESS}\\)|(?![(:]))|${AUTOLINK}|<(?!https?:)|\\\\(?![\`[\\]<!$\\\\(]))*$`,
  "i",
);

/** The parts of such a text. GFM makes a link of no host without a dot or with an underscore. */
const PART = new RegExp(
  `\\[|\\](?:\\((?<target>${ADDRESS})\\))?|${CODE}|${AUTOLINK}|` +
    `(?<=^|[\\s(])https?://(?:[a-z\\d](?:[a-z\\d-]{0,62}[a-z\\d])?\\.)+[a-z\\d]+(?::\\d+)?(?:[/?#]${ADDRESS})?`,
  "gi",
);

function addInline(text: string, chunk: Line[], { found, isHtml }: { found: Certain; isHtml: boolean }): void {
  const [start = 0, end = 0] = [chunk[0]?.start, chunk.at(-1)?.end];
  const inline = text.slice(start, end);
  if (isHtml || !SIMPLE.test(inline) || hasCodeInLink(inline)) {
    if (isHtml || /`|^(?: {4}|\t)/m.test(inline)) found.unsure.push({ start, end });
    return;
  }
  let isInBrackets = false;
  for (const { index, 0: part, groups = {} } of inline.matchAll(PART)) {
    const { marks, target } = groups;
    const partEnd = start + index + part.length;
    if (part === "[") isInBrackets = true;
    else if (part.startsWith("]")) {
      if (isInBrackets && target) found.kept.push({ start: partEnd - 1 - target.length, end: partEnd - 1 });
      isInBrackets = false;
    } else if (marks || !isInBrackets) {
      // GFM makes no link of an address in brackets.
      found.kept.push({ start: start + index, end: partEnd });
    }
  }
}

const CODES = new RegExp(CODE, "g");

/** GFM makes a link of a word with one of these, and backticks behind it belong to the link. */
const LINK_MARK = /:\/\/|www\.|@/i;

function hasCodeInLink(inline: string): boolean {
  const words = inline.replace(CODES, "`").split(/[\s<]/);
  return words.some((word) => LINK_MARK.test(word.slice(0, Math.max(0, word.lastIndexOf("`")))));
}
