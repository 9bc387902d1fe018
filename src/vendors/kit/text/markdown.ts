import {
  type MarkedToken,
  parseMarkdown,
  type Token,
  type Tokens,
  toKnown,
} from "../../../core/shared/text/markdown.ts";

/** How a service writes what Markdown can say. Each function gets text that is already in the service's form, unless it says otherwise. */
export interface Dialect {
  /** Plain text, which must stay plain. */
  text(plain: string): string;
  strong(inner: string): string;
  em(inner: string): string;
  del(inner: string): string;
  /** Plain text. */
  code(plain: string): string;
  /** Plain text. `language`: a word, such as `ts`, if the fence names one. */
  codeBlock(plain: string, language?: string): string;
  quote(inner: string): string;
  heading(inner: string): string;
  /** An http or mailto address that is shown as it is. */
  address(url: string): string;
  /** Default: the text alone. */
  paragraph?(inner: string): string;
  /** Default: lines with a bullet or a number. */
  list?(items: string[], ordered: boolean): string;
  /** Rows of cells, the header first. Default: as it was written, as code. A table in a list or a quote is always code. */
  table?(rows: string[][]): string;
  /** Between lines of one paragraph. Default: a newline. */
  lineBreak?: string;
  /** The length of a rendered text as the service counts it. Default: UTF-16 code units. */
  length?(rendered: string): number;
}

/** Deeper nesting is shown as it was written. */
const MAX_DEPTH = 40;

/**
 * Writes an agent's Markdown as a service shows it. The reply may contain what an attacker wrote: a link always shows its
 * target, an image becomes its address, HTML is text, and nothing notifies a whole group.
 */
export async function renderMarkdown(markdown: string, dialect: Dialect): Promise<string> {
  let rendered: string | undefined;
  try {
    rendered = renderBlocks(await parseMarkdown(markdown), { dialect, depth: 0 });
  } catch {
    // The library refuses thousands of nested quotes, for example.
  }
  return withoutGroups(rendered?.trim() ? rendered : dialect.text(markdown));
}

/** The beginning of a name that notifies everyone in a place. Mattermost looks for names after it has read `&#64;` and `&commat;`. */
const GROUP = /@(?=(?:everyone|here|channel|all)(?![\p{L}\p{N}]))|&(?=#\w+;|commat;)/giu;

/**
 * A character without width makes such a name text. The whole output is read: a name can come together from pieces, and
 * a service may see the end of code elsewhere than this file does.
 */
function withoutGroups(rendered: string): string {
  return rendered.replaceAll(GROUP, "$&\u200B");
}

/** A channel's `measureMarkdown`. */
export function measureAs(dialect: Dialect): (markdown: string) => Promise<number> {
  return async (markdown) => {
    const rendered = await renderMarkdown(markdown, dialect);
    return dialect.length?.(rendered) ?? rendered.length;
  };
}

interface RenderContext {
  dialect: Dialect;
  depth: number;
}

function renderBlocks(tokens: Token[], context: RenderContext): string {
  const blocks = toKnown(tokens).map((token) => renderBlock(token, context));
  return blocks.filter((block) => block !== "").join(context.dialect.paragraph ? "" : "\n\n");
}

function renderBlock(token: MarkedToken, { dialect, depth }: RenderContext): string {
  if (depth > MAX_DEPTH) throw new Error("The text is nested too deeply.");
  const inside = { dialect, depth: depth + 1 };
  const { paragraph = (inner: string) => inner } = dialect;
  switch (token.type) {
    case "space":
    case "def":
      return "";
    case "code":
      return dialect.codeBlock(token.text, toLanguage(token.lang));
    case "heading":
      // A heading is bold already, and two marks of bold text would end each other.
      return dialect.heading(
        renderInline(token.tokens, { ...inside, dialect: { ...dialect, strong: (inner) => inner } }),
      );
    case "blockquote":
      return dialect.quote(renderBlocks(token.tokens, inside));
    case "list":
      return renderList(token, inside);
    case "table":
      return renderTable(token, inside);
    case "hr":
      return paragraph(dialect.text("———"));
    case "text":
    case "paragraph":
      return paragraph(renderInline(token.tokens ?? [], inside) || dialect.text(token.text));
    default:
      return paragraph(dialect.text(token.raw.trimEnd()));
  }
}

/** The first word behind a fence. Others are for programs, and could hold anything. */
function toLanguage(info = ""): string | undefined {
  return /^[\w+#.-]{1,30}(?=\s|$)/.exec(info)?.[0];
}

/** Few services have tables, and those have them only outside of lists and quotes. As code, the columns stay where they are. */
function renderTable({ header, rows, raw }: Tokens.Table, context: RenderContext): string {
  const { dialect, depth } = context;
  if (!dialect.table || depth > 1) return dialect.codeBlock(raw.trimEnd());
  return dialect.table([header, ...rows].map((row) => row.map(({ tokens }) => renderInline(tokens, context))));
}

function renderList({ items, ordered, start }: Tokens.List, context: RenderContext): string {
  const texts = items.map(({ tokens }) => renderItem(tokens, context));
  if (context.dialect.list) return context.dialect.list(texts, ordered);
  const first = typeof start === "number" ? start : 1;
  return texts
    .map((text, index) => `${ordered ? `${first + index}.` : "-"} ${text.replaceAll("\n", "\n  ")}`)
    .join("\n");
}

/** An item's own text is not a paragraph: what follows it is directly below. */
function renderItem(tokens: Token[], context: RenderContext): string {
  const parts = toKnown(tokens).map((token) => {
    if (token.type === "checkbox") return context.dialect.text(token.checked ? "[x] " : "[ ] ");
    if (token.type === "text") return renderInline(token.tokens ?? [], context) || context.dialect.text(token.text);
    return renderBlock(token, context);
  });
  const [box, ...rest] = (tokens[0]?.type === "checkbox" ? parts : ["", ...parts]).filter(
    (part, at) => part || at === 0,
  );
  return `${box}${rest.join(context.dialect.list ? "" : "\n")}`;
}

function renderInline(tokens: Token[], { dialect, depth }: RenderContext): string {
  if (depth > MAX_DEPTH) throw new Error("The text is nested too deeply.");
  const inside = { dialect, depth: depth + 1 };
  const parts = toKnown(tokens).map((token) => {
    switch (token.type) {
      case "strong":
      case "em":
      case "del":
        return dialect[token.type](renderInline(token.tokens, inside));
      case "codespan":
        return dialect.code(token.text);
      case "br":
        return dialect.lineBreak ?? "\n";
      case "link":
        return renderLink(token, inside);
      case "image":
        return dialect.text(`${token.text || "image"} `) + dialect.code(token.href);
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

function renderLink(token: Tokens.Link, context: RenderContext): string {
  const { text, href, tokens } = token;
  const { dialect } = context;
  // An encoded character leaves an address the same.
  const address = ADDRESS.test(href) ? dialect.address(href.replaceAll(GROUP, encodeURIComponent)) : dialect.text(href);
  if (text === href) return address;
  if (`mailto:${text}` === href || `http://${text}` === href) return dialect.text(text);
  return renderInline(tokens, context) + dialect.text(" (") + address + dialect.text(")");
}
