import { type Dialect, renderMarkdown, withoutGroups } from "../markdown.ts";

/** A node of the Atlassian Document Format. https://developer.atlassian.com/cloud/jira/platform/apis/document/structure/ */
export interface AdfNode {
  type: string;
  text?: string;
  marks?: { type: string; attrs?: { href: string } }[];
  content?: AdfNode[];
}

export interface AdfDocument {
  version: 1;
  type: "doc";
  content: AdfNode[];
}

/** An agent's Markdown as a document. Mentions, cards and pictures are separate kinds of nodes, which no text can become. */
export async function toAdf(markdown: string): Promise<AdfDocument> {
  return toDocument(parseNodes(await renderMarkdown(markdown, ADF)));
}

/** A text as it is. */
export function toPlainAdf(text: string): AdfDocument {
  return toDocument(toInline(text));
}

function toDocument(nodes: AdfNode[]): AdfDocument {
  return { version: 1, type: "doc", content: toBlocks(nodes) };
}

/** Renders JSON: nodes with a comma after each, so that parts can be joined like other text. */
const ADF: Dialect = {
  text: (plain) => renderNodes(toInline(withoutGroups(plain))),
  strong: addMark("strong"),
  em: addMark("em"),
  del: addMark("strike"),
  code: (plain) => renderNodes(toText(plain).map((node) => ({ ...node, marks: [{ type: "code" }] }))),
  codeBlock: (plain) => renderNodes([{ type: "codeBlock", content: toText(plain) }]),
  quote: (inner) => renderNodes([{ type: "blockquote", content: toBlocks(parseNodes(inner)).flatMap(unquote) }]),
  heading: (inner) => renderParagraph(addMark("strong")(inner)),
  address: (href) => renderNodes([{ type: "text", text: href, marks: [{ type: "link", attrs: { href } }] }]),
  paragraph: renderParagraph,
  list: (items, ordered) =>
    renderNodes([{ type: ordered ? "orderedList" : "bulletList", content: items.map(parseNodes).map(toItem) }]),
  lineBreak: renderNodes([{ type: "hardBreak" }]),
};

function renderNodes(nodes: AdfNode[]): string {
  return nodes.map((node) => `${JSON.stringify(node)},`).join("");
}

function parseNodes(rendered: string): AdfNode[] {
  return JSON.parse(`[${rendered.replace(/,$/, "")}]`);
}

function renderParagraph(inner: string): string {
  return renderNodes(toBlocks(parseNodes(inner)));
}

function addMark(type: string): (inner: string) => string {
  return (inner) =>
    renderNodes(
      parseNodes(inner).map((node) => {
        const marks = node.marks ?? [];
        // Code has no other marks, and no mark twice.
        if (node.type !== "text" || marks.some((mark) => mark.type === "code" || mark.type === type)) return node;
        return { ...node, marks: [...marks, { type }] };
      }),
    );
}

/** XML has no such characters, and Jira keeps texts as XML. */
const CONTROLS = /[^\P{Cc}\t\n]/gu;

/** Text nodes are not empty. */
function toText(plain: string): AdfNode[] {
  const text = plain.replaceAll(CONTROLS, "");
  return text === "" ? [] : [{ type: "text", text }];
}

/** A line break is a separate node. */
function toInline(plain: string): AdfNode[] {
  return plain
    .split("\n")
    .flatMap((line, index): AdfNode[] => [...(index > 0 ? [{ type: "hardBreak" }] : []), ...toText(line)]);
}

/** Puts text that is beside blocks into paragraphs. */
function toBlocks(nodes: AdfNode[]): AdfNode[] {
  const blocks: AdfNode[] = [];
  let paragraph: AdfNode[] | undefined;
  for (const node of nodes) {
    if (node.type !== "text" && node.type !== "hardBreak") {
      paragraph = undefined;
      blocks.push(node);
    } else if (paragraph) {
      paragraph.push(node);
    } else {
      paragraph = [node];
      blocks.push({ type: "paragraph", content: paragraph });
    }
  }
  return blocks.length > 0 ? blocks : [{ type: "paragraph", content: [] }];
}

/** Neither a quote nor an item of a list contains a quote. */
function unquote(node: AdfNode): AdfNode[] {
  return node.type === "blockquote" ? (node.content ?? []) : [node];
}

/** An item begins with a text. */
function toItem(nodes: AdfNode[]): AdfNode {
  const content = toBlocks(nodes).flatMap(unquote);
  const startsWithList = content[0]?.type.endsWith("List") ?? true;
  return { type: "listItem", content: startsWithList ? [{ type: "paragraph", content: [] }, ...content] : content };
}
