import { compile, type DomNode, type FormatCallback } from "html-to-text";
import { cutText } from "../../shared/text.ts";

/** A mail in HTML may be of any length; what stands beyond this is left out. */
const MAX_CHARACTERS = 300_000;
/** Layouts of real mails stay far below; what lies deeper is left out. */
const DEEPEST = 100;

const HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"];
const HIDDEN = [
  "title",
  "[hidden]",
  ...["display:none", "visibility:hidden", "mso-hide:all"].flatMap((style) => [
    `[style*="${style}" i]`,
    `[style*="${style.replace(":", ": ")}" i]`,
  ]),
];
/** So many quotes within each other are marked: each mark is one more on every line. */
const MAX_QUOTE_DEPTH = 4;

/** `> ` before each line. */
const formatQuote: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 2 });
  walk(element.children, builder);
  builder.closeBlock({
    trailingLineBreaks: 2,
    ...(!isDeep(element) && { blockTransform: (text) => text.trim().replaceAll(/^/gm, "> ") }),
  });
};

const formatItem: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 1 });
  builder.addLiteral("- ");
  walk(element.children, builder);
  builder.closeBlock({ trailingLineBreaks: 1 });
};

const convert = compile({
  wordwrap: false,
  // The library's own ones indent every line once a level: a thousand levels make megabytes of a few bytes.
  formatters: { quote: formatQuote, item: formatItem },
  limits: { maxInputLength: MAX_CHARACTERS, maxDepth: DEEPEST, ellipsis: "" },
  // The whole document: what a broken mail has outside of its body is shown as well.
  baseElements: { selectors: ["html-of-no-mail"], returnDomByDefault: true },
  selectors: [
    ...HEADINGS.map((selector) => ({ selector, options: { uppercase: false } })),
    ...HIDDEN.map((selector) => ({ selector, format: "skip" })),
    { selector: "a", options: { hideLinkHrefIfSameAsText: true } },
    { selector: "img", format: "skip" },
    { selector: "blockquote", format: "quote" },
    { selector: "ul", format: "block", options: { leadingLineBreaks: 2, trailingLineBreaks: 2 } },
    { selector: "ol", format: "block", options: { leadingLineBreaks: 2, trailingLineBreaks: 2 } },
    { selector: "li", format: "item" },
    // Most tables are there for the layout, so that columns are not lined up.
    { selector: "table", format: "block", options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
    { selector: "tr", format: "block", options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
    { selector: "td", format: "inlineSurround", options: { suffix: "  " } },
    { selector: "th", format: "inlineSurround", options: { suffix: "  " } },
  ],
});

/** The text of a mail in HTML: links in brackets behind their words, nothing that its reader would not see. */
export function htmlToText(html: string): string {
  const bounded = html.slice(0, MAX_CHARACTERS);
  return withoutPadding(toText(bounded));
}

function isDeep(element: DomNode): boolean {
  let quotes = 0;
  for (let above = element.parent; above && quotes < MAX_QUOTE_DEPTH; above = above.parent)
    if (above.name === "blockquote") quotes++;
  return quotes === MAX_QUOTE_DEPTH;
}

function toText(html: string): string {
  try {
    return convert(html);
  } catch {
    // An element named `constructor`, for one, is too much for the library.
    return html.replaceAll(/<[^<>]*>/g, " ");
  }
}

/** Without the invisible characters that push a preview's text out of sight, and the gaps that layouts leave. */
function withoutPadding(text: string): string {
  return text
    .replaceAll(/\u034f|[\u00ad\u200b\u2060\ufeff]/g, "")
    .replaceAll(/[\u200c\u200d]+(?=\s|$)|(?<=\s|^)[\u200c\u200d]+/g, "")
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}

/** Most characters of a header's value that are kept: the longest line that RFC 5322 allows. */
const MAX_LINE_LENGTH = 998;

/** Text as a mail's body may hold it: line feeds alone, no other control character but tab, no half of a character. */
export function cleanText(text: string): string {
  return text
    .replaceAll(/\r\n?|[\u0085\u2028\u2029]/g, "\n")
    .replaceAll(/[\p{Cc}--[\n\t]]/gv, "")
    .toWellFormed();
}

/** A header's value as a field may hold it: one line, bounded. */
export function cleanLine(text: string, mostCharacters: number = MAX_LINE_LENGTH): string {
  const line = cleanText(text).replaceAll(/\s+/g, " ").trim();
  return cutText(line, mostCharacters);
}

/** As much of a text as fits into so many bytes of UTF-8, never cut within a character. */
export function cutBytes(text: string, mostBytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(mostBytes));
  return text.slice(0, read);
}

const MAX_SNIPPET_CHARACTERS = 200;
/** How much of a text is looked at. */
const LOOK_AT = 20_000;
/** Lines that begin with `>`, and the one above them that says whose they are, in any language. */
const QUOTED = /(?:^[^\n>][^\n]*:[ \t]*\n\s*)?^>[^\n]*$/gm;

const segmenter = new Intl.Segmenter();

/** The beginning of a text on one line: its own words, or, where it has none, those that it quotes. */
export function toSnippet(text: string): string {
  const start = text.slice(0, LOOK_AT);
  return cutCharacters(cleanLine(start.replaceAll(QUOTED, "")) || cleanLine(start));
}

/** Never cuts within what a reader takes for one character. */
function cutCharacters(text: string): string {
  if (text.length <= MAX_SNIPPET_CHARACTERS) return text;
  const end = segmenter.segment(text).containing(MAX_SNIPPET_CHARACTERS)?.index;
  return text.slice(0, end);
}
