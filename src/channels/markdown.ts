import type { MarkedToken, Token, Tokens } from "marked";
import { cutText } from "../shared/text.ts";

/** How a service writes what Markdown can say. Each function gets text that is already in the service's form, unless it says otherwise. */
export interface Dialect {
  /** Plain text, which must stay plain. */
  text(plain: string): string;
  strong(inner: string): string;
  em(inner: string): string;
  del(inner: string): string;
  /** Plain text. */
  code(plain: string): string;
  /** Plain text. */
  codeBlock(plain: string): string;
  quote(inner: string): string;
  heading(inner: string): string;
  /** An http or mailto address that is shown as it is. */
  address(url: string): string;
  /** Default: the text alone. */
  paragraph?(inner: string): string;
  /** Default: lines with a bullet or a number. */
  list?(items: string[], ordered: boolean): string;
  /** Between lines of one paragraph. Default: a newline. */
  lineBreak?: string;
  /** The length of a rendered text as the service counts it. Default: UTF-16 code units. */
  length?(rendered: string): number;
}

/** Deeper nesting is shown as it was written. */
const MAX_DEPTH = 40;

/**
 * Writes an agent's Markdown as a service shows it, in at most `limit` characters. The reply may contain what an attacker
 * wrote: a link always shows its target, an image becomes its address, HTML is text, and nothing notifies a whole group.
 */
export async function renderMarkdown(markdown: string, dialect: Dialect, limit = Infinity): Promise<string> {
  const { lexer } = await import("marked");
  let rendered: string | undefined;
  try {
    rendered = renderBlocks(lexer(markdown, { gfm: true }), { dialect, depth: 0 });
  } catch {
    // The library refuses thousands of nested quotes, for example.
  }
  if (rendered?.trim() && (dialect.length?.(rendered) ?? rendered.length) <= limit) return rendered;
  return cutText(dialect.text(markdown), limit);
}

interface Place {
  dialect: Dialect;
  depth: number;
}

/** Only extensions of the library, which are not used, add other kinds of tokens. */
function toKnown(tokens: Token[]): MarkedToken[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- See above.
  return tokens as MarkedToken[];
}

function renderBlocks(tokens: Token[], place: Place): string {
  const blocks = toKnown(tokens).map((token) => renderBlock(token, place));
  return blocks.filter((block) => block !== "").join(place.dialect.paragraph ? "" : "\n\n");
}

function renderBlock(token: MarkedToken, { dialect, depth }: Place): string {
  if (depth > MAX_DEPTH) throw new Error("The text is nested too deeply.");
  const inside = { dialect, depth: depth + 1 };
  const { paragraph = (inner: string) => inner } = dialect;
  switch (token.type) {
    case "space":
    case "def":
      return "";
    case "code":
      return dialect.codeBlock(token.text);
    case "heading":
      return dialect.heading(renderInline(token.tokens, inside));
    case "blockquote":
      return dialect.quote(renderBlocks(token.tokens, inside));
    case "list":
      return renderList(token, inside);
    // Few services have tables. As code, the columns stay where they are.
    case "table":
      return dialect.codeBlock(token.raw.trimEnd());
    case "hr":
      return paragraph(dialect.text("———"));
    case "text":
    case "paragraph":
      return paragraph(renderInline(token.tokens ?? [], inside) || dialect.text(token.text));
    default:
      return paragraph(dialect.text(token.raw.trimEnd()));
  }
}

function renderList({ items, ordered, start }: Tokens.List, place: Place): string {
  const texts = items.map(({ tokens }) => renderItem(tokens, place));
  if (place.dialect.list) return place.dialect.list(texts, ordered);
  const first = typeof start === "number" ? start : 1;
  return texts
    .map((text, index) => `${ordered ? `${first + index}.` : "-"} ${text.replaceAll("\n", "\n  ")}`)
    .join("\n");
}

/** An item's own text is not a paragraph: what follows it is directly below. */
function renderItem(tokens: Token[], place: Place): string {
  const parts = toKnown(tokens).map((token) => {
    if (token.type === "checkbox") return place.dialect.text(token.checked ? "[x] " : "[ ] ");
    if (token.type === "text") return renderInline(token.tokens ?? [], place) || place.dialect.text(token.text);
    return renderBlock(token, place);
  });
  const [box, ...rest] = (tokens[0]?.type === "checkbox" ? parts : ["", ...parts]).filter(
    (part, at) => part || at === 0,
  );
  return `${box}${rest.join(place.dialect.list ? "" : "\n")}`;
}

function renderInline(tokens: Token[], { dialect, depth }: Place): string {
  if (depth > MAX_DEPTH) throw new Error("The text is nested too deeply.");
  const inside = { dialect, depth: depth + 1 };
  const parts = toKnown(tokens).map((token) => {
    switch (token.type) {
      case "strong":
        return dialect.strong(renderInline(token.tokens, inside));
      case "em":
        return dialect.em(renderInline(token.tokens, inside));
      case "del":
        return dialect.del(renderInline(token.tokens, inside));
      case "codespan":
        return dialect.code(token.text);
      case "br":
        return dialect.lineBreak ?? "\n";
      case "link":
        return renderLink(token, inside);
      case "image":
        return isWrittenOut(token)
          ? dialect.text(`${token.text || "image"} `) + dialect.code(token.href)
          : dialect.text(token.raw);
      case "escape":
        return dialect.text(token.text);
      default:
        return dialect.text(token.raw).replaceAll("\n", dialect.lineBreak ?? "\n");
    }
  });
  return parts.join("");
}

/** Without a scheme that people know, an address is text. */
const ADDRESS = /^(?:https?:\/\/|mailto:)[^\s<>|"`\\]+$/i;

function renderLink(token: Tokens.Link, place: Place): string {
  const { text, href, raw, tokens } = token;
  const { dialect } = place;
  if (!isWrittenOut(token)) return dialect.text(raw);
  const address = ADDRESS.test(href) ? dialect.address(href) : dialect.text(href);
  if (text === href) return address;
  if (`mailto:${text}` === href || `http://${text}` === href) return dialect.text(text);
  return renderInline(tokens, place) + dialect.text(" (") + address + dialect.text(")");
}

/** Of a link that names its address elsewhere in the text, many could make a short text long. */
function isWrittenOut({ raw, href }: { raw: string; href: string }): boolean {
  return raw.includes(href) || raw.includes(href.replace(/^(?:mailto:|http:\/\/)/, "")) || raw.length > href.length;
}

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
function fence(code: string): string {
  return `\`\`\`\n${code.replaceAll("```", "``\u200B`")}\n\`\`\``;
}

/** A mark around nothing, or around white space, would be shown. */
function around(mark: string): (inner: string) => string {
  return (inner) => (inner.trim() === "" ? inner : `${mark}${inner}${mark}`);
}

function codeMark(code: string): string {
  return `\`${code.replaceAll("`", "'")}\``;
}

const slackText = (plain: string): string => escapeAngles(withoutGroups(plain));

/** https://docs.slack.dev/messaging/formatting-message-text */
export const SLACK: Dialect = {
  text: slackText,
  strong: around("*"),
  em: around("_"),
  del: around("~"),
  code: (plain) => codeMark(slackText(plain)),
  codeBlock: (plain) => fence(slackText(plain)),
  quote: quoteLines,
  heading: around("*"),
  address: (url) => `<${escapeAngles(url)}>`,
};

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
  address: (url) => url,
};

/** A `](` in a text could become a link that this file did not see. */
const markdownText = (plain: string): string => withoutGroups(plain).replaceAll(/\](?=[([:])/g, "] ");

/** Discord and Mattermost. */
export const MARKDOWN: Dialect = {
  text: markdownText,
  strong: around("**"),
  em: around("*"),
  del: around("~~"),
  code: codeMark,
  codeBlock: fence,
  quote: quoteLines,
  heading: around("**"),
  address: (url) => url,
};

function tag(name: string): (inner: string) => string {
  return (inner) => `<${name}>${inner}</${name}>`;
}

const htmlEscape = (plain: string): string => escapeAngles(plain).replaceAll('"', "&quot;");
const htmlText = (plain: string): string => htmlEscape(withoutGroups(plain));

/** https://core.telegram.org/bots/api#html-style */
export const TELEGRAM: Dialect = {
  text: htmlText,
  strong: tag("b"),
  em: tag("i"),
  del: tag("s"),
  code: (plain) => tag("code")(htmlText(plain)),
  codeBlock: (plain) => tag("pre")(htmlText(plain)),
  // Telegram refuses a quote in a quote. Only our own tags can match: those of the text are escaped.
  quote: (inner) => tag("blockquote")(inner.replaceAll(/<\/?blockquote>/g, "")),
  heading: tag("b"),
  address: htmlEscape,
  // Tags do not count, and a reference is one character.
  length: (rendered) => rendered.replaceAll(/<[^>]*>/g, "").replaceAll(/&[a-z]+;/g, "&").length,
};

/** Simple HTML, for mails and for Teams. */
export const HTML: Dialect = {
  text: htmlText,
  strong: tag("strong"),
  em: tag("em"),
  del: tag("s"),
  code: (plain) => tag("code")(htmlText(plain)),
  codeBlock: (plain) => tag("pre")(htmlText(plain)),
  quote: tag("blockquote"),
  heading: (inner) => tag("p")(tag("strong")(inner)),
  address: (url) => `<a href="${htmlEscape(url)}">${htmlEscape(url)}</a>`,
  paragraph: tag("p"),
  list: (items, ordered) => tag(ordered ? "ol" : "ul")(items.map(tag("li")).join("")),
  lineBreak: "<br>",
};
