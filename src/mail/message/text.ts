import { compile, type DomNode, type FormatCallback } from "html-to-text";
import { cutText } from "../../shared/text.ts";

const MAX_HTML_CHARACTERS = 300_000;
const MAX_HTML_DEPTH = 100;
/** Deeper quotes get no further mark, since each level adds one to every line. */
const MAX_QUOTE_DEPTH = 4;

const HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"];
const HIDDEN_STYLES = ["display:none", "visibility:hidden", "mso-hide:all"];
const HIDDEN = [
  "title",
  "[hidden]",
  ...HIDDEN_STYLES.flatMap((style) => [`[style*="${style}" i]`, `[style*="${style.replace(":", ": ")}" i]`]),
];

/** `> ` before each line. */
const formatQuote: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 2 });
  walk(element.children, builder);
  const blockTransform = (text: string): string => text.trim().replaceAll(/^/gm, "> ");
  builder.closeBlock({ trailingLineBreaks: 2, ...(!isDeepQuote(element) && { blockTransform }) });
};

const formatItem: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 1 });
  builder.addLiteral("- ");
  walk(element.children, builder);
  builder.closeBlock({ trailingLineBreaks: 1 });
};

const block = (lineBreaks: number): object => ({
  format: "block",
  options: { leadingLineBreaks: lineBreaks, trailingLineBreaks: lineBreaks },
});

const convert = compile({
  wordwrap: false,
  // The library's own formatters indent each line once per level: a thousand levels turn a few bytes into megabytes.
  formatters: { quote: formatQuote, item: formatItem },
  limits: { maxInputLength: MAX_HTML_CHARACTERS, maxDepth: MAX_HTML_DEPTH, ellipsis: "" },
  // A selector without a match gives the whole document, since broken mails have content outside of their body.
  baseElements: { selectors: ["html-of-no-mail"], returnDomByDefault: true },
  selectors: [
    ...HEADINGS.map((selector) => ({ selector, options: { uppercase: false } })),
    ...HIDDEN.map((selector) => ({ selector, format: "skip" })),
    { selector: "a", options: { hideLinkHrefIfSameAsText: true } },
    { selector: "img", format: "skip" },
    { selector: "blockquote", format: "quote" },
    { selector: "ul", ...block(2) },
    { selector: "ol", ...block(2) },
    { selector: "li", format: "item" },
    // Most tables are for layout, so columns are not aligned.
    { selector: "table", ...block(1) },
    { selector: "tr", ...block(1) },
    { selector: "td", format: "inlineSurround", options: { suffix: "  " } },
    { selector: "th", format: "inlineSurround", options: { suffix: "  " } },
  ],
});

/** The visible text of a mail in HTML, with links in brackets behind their text. */
export function htmlToText(html: string): string {
  return withoutPadding(convertSafely(html.slice(0, MAX_HTML_CHARACTERS)));
}

/** Text for the body of a mail: line feeds only, no other control character but tab, well-formed. */
export function cleanText(text: string): string {
  return text
    .replaceAll(/\r\n?|[\u0085\u2028\u2029]/g, "\n")
    .replaceAll(/[\p{Cc}--[\n\t]]/gv, "")
    .toWellFormed();
}

/** The longest line that RFC 5322 allows. */
const MAX_LINE_LENGTH = 998;

/** Text for a field of a mail: one bounded line. */
export function cleanLine(text: string, maxCharacters: number = MAX_LINE_LENGTH): string {
  return cutText(cleanText(text).replaceAll(/\s+/g, " ").trim(), maxCharacters);
}

/** The beginning of a text, up to this many bytes of UTF-8. Never cuts a character. */
export function cutBytes(text: string, maxBytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}

const MAX_SNIPPET_CHARACTERS = 200;
const SAMPLE_CHARACTERS = 20_000;
/** Lines that begin with `>`, and the line above that introduces them, in any language. */
const QUOTED = /(?:^[^\n>][^\n]*:[ \t]*\n\s*)?^>[^\n]*$/gm;

const segmenter = new Intl.Segmenter();

/** The beginning of a text on one line, without quotes unless it has nothing else. */
export function toSnippet(text: string): string {
  const start = text.slice(0, SAMPLE_CHARACTERS);
  const line = cleanLine(start.replaceAll(QUOTED, "")) || cleanLine(start);
  if (line.length <= MAX_SNIPPET_CHARACTERS) return line;
  // Never cuts what a reader sees as one character.
  return line.slice(0, segmenter.segment(line).containing(MAX_SNIPPET_CHARACTERS)?.index);
}

function isDeepQuote(element: DomNode): boolean {
  let quotes = 0;
  for (let above = element.parent; above && quotes < MAX_QUOTE_DEPTH; above = above.parent) {
    if (above.name === "blockquote") quotes += 1;
  }
  return quotes === MAX_QUOTE_DEPTH;
}

function convertSafely(html: string): string {
  try {
    return convert(html);
  } catch {
    // The library fails on an element named `constructor`, for example.
    return html.replaceAll(/<[^<>]*>/g, " ");
  }
}

/** Removes invisible characters that pad a preview, and the gaps of a layout. */
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
