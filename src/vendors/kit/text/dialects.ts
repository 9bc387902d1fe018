import type { Dialect } from "./markdown.ts";

/** Names that notify everyone in a place, where a text can. A character without width makes them text. */
export function withoutGroups(text: string): string {
  return text.replaceAll(/@(?=(?:everyone|here|channel|all)\b)/gi, "@\u200B");
}

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
  text: withoutGroups,
  strong: around("*"),
  em: around("_"),
  del: around("~"),
  code: (plain) => codeMark(withoutGroups(plain)),
  codeBlock: (plain) => fence(withoutGroups(plain)),
  quote: quoteLines,
  heading: around("*"),
  address: asIs,
};

const slackText = (plain: string): string => escapeAngles(withoutGroups(plain));

/** https://docs.slack.dev/messaging/formatting-message-text */
export const SLACK: Dialect = {
  ...WHATSAPP,
  text: slackText,
  code: (plain) => codeMark(slackText(plain)),
  codeBlock: (plain) => fence(slackText(plain)),
  address: (url) => `<${escapeAngles(url)}>`,
};

/** A `](` in a text could become a link that this file did not see. */
const markdownText = (plain: string): string => withoutGroups(plain).replaceAll(/\](?=[([:])/g, "] ");

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
const htmlText = (plain: string): string => htmlEscape(withoutGroups(plain));

/** Forms that are alike in all HTML dialects. */
const HTML_TEXT = {
  text: htmlText,
  del: tag("s"),
  code: (plain: string) => tag("code")(htmlText(plain)),
  codeBlock: (plain: string, language?: string) => tag("pre")(toCode(htmlText(plain), language)),
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
  text: withoutGroups,
  strong: asIs,
  em: asIs,
  del: asIs,
  code: withoutGroups,
  codeBlock: withoutGroups,
  quote: quoteLines,
  heading: asIs,
  address: asIs,
};

function asIs(text: string): string {
  return text;
}
