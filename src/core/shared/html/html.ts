import type * as Parse5 from "parse5";
import type { DefaultTreeAdapterTypes as Tree } from "parse5";
import { loadAtFirstUse } from "../system/package.ts";
import { type Appearance, PAGE } from "./appearance.ts";
import { createStyles, readDataUrl, type StyleSheet } from "./style.ts";

const parse5 = loadAtFirstUse<typeof Parse5>("parse5");

const MAX_HTML_CHARACTERS = 300_000;
/** Deeper quotes get no further mark, since each level adds one to every line. */
const MAX_QUOTE_DEPTH = 4;

/** Line breaks before and after an element. */
const BREAKS = new Map([
  ...toBreaks("address article aside caption center dd div dl dt details fieldset figcaption figure footer", 1),
  ...toBreaks("form header legend li main nav option section summary table tr", 1),
  ...toBreaks("blockquote h1 h2 h3 h4 h5 h6 hr ol p pre ul", 2),
]);
/** Elements that a browser hides, or shows without the text in them. */
const HIDDEN = new Set(
  (
    "area audio canvas datalist head iframe noembed noframes noscript object progress rp script select style svg title " +
    "video"
  ).split(" "),
);

/** The text that a browser shows for a mail in HTML, with the targets of links in brackets behind their text. */
export function htmlToText(html: string): string {
  const { html: spec, parse } = parse5();
  const document = parse(html.slice(0, MAX_HTML_CHARACTERS));
  const readAppearance = createStyles(styleSheetsOf(document), document.mode === spec.DOCUMENT_MODE.QUIRKS);
  const appearances: Appearance[] = [PAGE];
  const writer = createWriter();
  let unread = false;
  walk(document, {
    enter(element) {
      const appearance = isHidden(element) ? undefined : readAppearance(element, appearances.at(-1) ?? PAGE);
      if (!appearance) return false;
      appearances.push(appearance);
      writer.open(element);
      return true;
    },
    text(text, parent) {
      const { isVisible, isUncertain } = appearances.at(-1) ?? PAGE;
      if (isClosed(parent) || !isVisible) return;
      unread ||= isUncertain && text.trim() !== "";
      writer.write(text);
    },
    leave(element) {
      appearances.pop();
      writer.close(element);
    },
  });
  const text = withoutPadding(writer.text());
  return unread ? `${text}\n\n${UNREAD_STYLES}` : text;
}

/** Such a style may hide a text from a reader that is here. */
const UNREAD_STYLES = "(some styles could not be read)";

function isHidden(element: Tree.Element): boolean {
  const { tagName, attrs, parentNode } = element;
  const has = (wanted: string): boolean => attrs.some(({ name }) => name === wanted);
  if (HIDDEN.has(tagName) || has("hidden") || (tagName === "dialog" && !has("open"))) return true;
  if (!parentNode || !isClosed(parentNode)) return false;
  return parentNode.childNodes.find((child) => child.nodeName === "summary") !== element;
}

/** Only its first summary is shown. */
function isClosed(node: Tree.ParentNode): boolean {
  return "tagName" in node && node.tagName === "details" && !node.attrs.some(({ name }) => name === "open");
}

interface Visitor {
  /** false: without its children. */
  enter(element: Tree.Element): boolean;
  text(text: string, parent: Tree.ParentNode): void;
  leave(element: Tree.Element): void;
}

/** Not recursive: a mail may have a hundred thousand levels. */
function walk(document: Tree.Document, { enter, text, leave }: Visitor): void {
  const open: { node: Tree.ParentNode; next: number }[] = [{ node: document, next: 0 }];
  for (let top = open.at(-1); top; top = open.at(-1)) {
    const child = top.node.childNodes[top.next];
    top.next += 1;
    if (child === undefined) {
      open.pop();
      if ("tagName" in top.node) leave(top.node);
    } else if ("value" in child) {
      text(child.value, top.node);
    } else if ("tagName" in child && enter(child)) {
      open.push({ node: child, next: 0 });
    }
  }
}

function styleSheetsOf(document: Tree.Document): StyleSheet[] {
  const sheets: StyleSheet[] = [];
  let media: string | undefined;
  walk(document, {
    enter({ tagName, attrs }) {
      const read = (wanted: string): string => attrs.find(({ name }) => name === wanted)?.value ?? "";
      const isStyle = tagName === "style" && /^(?:text\/css)?$/i.test(read("type"));
      media = isStyle ? read("media") : undefined;
      const isLink = tagName === "link" && /(?:^|\s)stylesheet(?:\s|$)/i.test(read("rel"));
      const css = isLink ? readDataUrl(read("href")) : undefined;
      if (css !== undefined) sheets.push({ css, media: read("media") });
      return true;
    },
    text: (css) => media !== undefined && sheets.push({ css, media }),
    leave: () => (media = undefined),
  });
  return sheets;
}

function toBreaks(tags: string, breaks: number): [string, number][] {
  return tags.split(" ").map((tag) => [tag, breaks]);
}

/** Writes elements and texts as lines, as they would stand on a page. */
function createWriter() {
  const pieces: string[] = [];
  let length = 0;
  /** Before the next text, if it is not the first: line feeds, or a space, or the gap between two cells. */
  let breaks = 0;
  let gap = "";
  let bullet = "";
  let quotes = 0;
  let lineQuotes = 0;
  let preformatted = 0;
  const links: { href: string; piece: number; length: number }[] = [];

  return { open, write, close, text: () => pieces.join("") };

  function open({ tagName, attrs }: Tree.Element): void {
    breakLine(tagName);
    if (tagName === "blockquote") quotes += 1;
    if (tagName === "pre") preformatted += 1;
    if (tagName === "li") bullet = "- ";
    if (tagName === "br") breaks = Math.min(breaks + 1, 2);
    if (tagName !== "a") return;
    const href =
      attrs
        .find(({ name }) => name === "href")
        ?.value.trim()
        .replace(/^mailto:/i, "") ?? "";
    links.push({ href: href.startsWith("#") ? "" : href, piece: pieces.length, length });
  }

  function close({ tagName }: Tree.Element): void {
    if (tagName === "a") closeLink();
    if (tagName === "td" || tagName === "th") gap = "  ";
    breakLine(tagName);
    if (tagName === "blockquote") quotes -= 1;
    if (tagName === "pre") preformatted -= 1;
  }

  function breakLine(tagName: string): void {
    breaks = Math.max(breaks, BREAKS.get(tagName) ?? 0);
  }

  function write(text: string): void {
    if (preformatted > 0) {
      text.split("\n").forEach((line, index) => {
        if (index > 0) breaks = Math.min(breaks + 1, 2);
        if (line !== "") add(line);
      });
      return;
    }
    const words = text.replaceAll(/[ \t\n\f\r]+/g, " ");
    if (words.startsWith(" ")) gap ||= " ";
    if (words.trim() !== "") add(words.replaceAll(/^ | $/g, ""));
    if (words.endsWith(" ")) gap ||= " ";
  }

  function add(text: string): void {
    const depth = Math.min(quotes, MAX_QUOTE_DEPTH);
    if (pieces.length === 0) push("> ".repeat(depth));
    else if (breaks > 0) {
      for (; breaks > 1; breaks -= 1) push(`\n${"> ".repeat(Math.min(depth, lineQuotes))}`);
      push(`\n${"> ".repeat(depth)}`);
    } else push(gap);
    lineQuotes = depth;
    push(bullet + text);
    [breaks, gap, bullet] = [0, "", ""];
  }

  function push(piece: string): void {
    if (piece === "") return;
    pieces.push(piece);
    length += piece.length;
  }

  function closeLink(): void {
    const { href, ...start } = links.pop() ?? { href: "", piece: 0, length: 0 };
    if (href === "") return;
    // Only a text about as long as the target can be the same.
    const isShort = length - start.length <= href.length + MAX_MARKS;
    const text = isShort ? pieces.slice(start.piece).join("").trim() : undefined;
    if (text === "") add(href);
    else if (text !== href) {
      gap = " ";
      add(`[${href}]`);
    }
  }
}
/** Line feeds and quote marks before the text of a link. */
const MAX_MARKS = 30;

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
