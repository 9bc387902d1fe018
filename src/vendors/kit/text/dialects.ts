import type { Dialect } from "./markdown.ts";

/** `&`, `<` and `>` as Slack, Telegram and HTML write them. */
export function escapeAngles(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function quoteLines(text: string): string {
  return text.replaceAll(/^/gm, "> ");
}

/** No text can end a block of code that begins with three marks. */
function fence(code: string, language = ""): string {
  return `\`\`\`${language}\n${code.replaceAll("```", "``\u200B`")}\n\`\`\``;
}

/** A mark around nothing, or around white space, would be shown. */
function around(mark: string): (inner: string) => string {
  return (inner) => (inner.trim() === "" ? inner : `${mark}${inner}${mark}`);
}

function codeMark(code: string): string {
  return `\`${code.replaceAll("`", "'")}\``;
}

/** https://faq.whatsapp.com/539178204879377 */
export const WHATSAPP: Dialect = {
  text: asIs,
  strong: around("*"),
  em: around("_"),
  del: around("~"),
  code: codeMark,
  codeBlock: (plain) => fence(plain),
  quote: quoteLines,
  heading: around("*"),
  address: asIs,
};

/** https://docs.slack.dev/messaging/formatting-message-text */
export const SLACK: Dialect = {
  ...WHATSAPP,
  text: escapeAngles,
  code: (plain) => codeMark(escapeAngles(plain)),
  codeBlock: (plain) => fence(escapeAngles(plain)),
  address: (url) => `<${escapeAngles(url)}>`,
};

/** A `](` could become a link that this file did not see; the text that follows the last character is not known. */
const markdownText = (plain: string): string => plain.replaceAll(/\](?=[([:]|$)/g, "]\u200B");

/** Discord's. It has no tables. */
export const MARKDOWN: Dialect = {
  text: markdownText,
  strong: around("**"),
  em: around("*"),
  del: around("~~"),
  code: codeMark,
  codeBlock: fence,
  quote: quoteLines,
  heading: around("**"),
  address: asIs,
};

/** A line of a table. A bar in a cell would begin another one. */
function row(cells: string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("\n", " ").replaceAll("|", "\\|")).join(" | ")} |`;
}

export const MATTERMOST: Dialect = {
  ...MARKDOWN,
  table: ([header = [], ...rows]) => [row(header), row(header.map(() => "---")), ...rows.map(row)].join("\n"),
};

function tag(name: string): (inner: string) => string {
  return (inner) => `<${name}>${inner}</${name}>`;
}

const htmlEscape = (plain: string): string => escapeAngles(plain).replaceAll('"', "&quot;");

/** Forms that are alike in all HTML dialects. */
const HTML_TEXT = {
  text: htmlEscape,
  del: tag("s"),
  code: (plain: string) => tag("code")(htmlEscape(plain)),
  codeBlock: (plain: string, language?: string) => tag("pre")(toCode(htmlEscape(plain), language)),
};

/** https://core.telegram.org/bots/api#html-style */
export const TELEGRAM: Dialect = {
  ...HTML_TEXT,
  strong: tag("b"),
  em: tag("i"),
  // Telegram refuses a quote in a quote. Only our own tags can match: those of the text are escaped.
  quote: (inner) => tag("blockquote")(inner.replaceAll(/<\/?blockquote>/g, "")),
  heading: tag("b"),
  address: htmlEscape,
  // Tags do not count, and a reference is one character.
  length: (rendered) => rendered.replaceAll(/<[^>]*>/g, "").replaceAll(/&[a-z]+;/g, "&").length,
};

/** `language` is a word. */
function toCode(code: string, language: string | undefined): string {
  return language === undefined ? code : `<code class="language-${language}">${code}</code>`;
}

/** Simple HTML, for Teams. */
export const HTML: Dialect = {
  ...HTML_TEXT,
  strong: tag("strong"),
  em: tag("em"),
  quote: tag("blockquote"),
  heading: (inner) => tag("p")(tag("strong")(inner)),
  address: (url) => `<a href="${htmlEscape(url)}">${htmlEscape(url)}</a>`,
  paragraph: tag("p"),
  list: (items, ordered) => tag(ordered ? "ol" : "ul")(items.map(tag("li")).join("")),
  lineBreak: "<br>",
};

const htmlRow = (cell: "td" | "th") => (cells: string[]) => tag("tr")(cells.map(tag(cell)).join(""));

export const MAIL: Dialect = {
  ...HTML,
  table: ([header = [], ...rows]) => tag("table")(htmlRow("th")(header) + rows.map(htmlRow("td")).join("")),
};

/** Without formatting: people read the marks of Markdown as part of the text. */
export const PLAIN: Dialect = {
  text: asIs,
  strong: asIs,
  em: asIs,
  del: asIs,
  code: asIs,
  codeBlock: asIs,
  quote: quoteLines,
  heading: asIs,
  address: asIs,
};

function asIs(text: string): string {
  return text;
}
