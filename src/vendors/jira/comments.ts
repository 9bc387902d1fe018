import type { FromSchema } from "json-schema-to-ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { HTTP_URL, NON_BLANK, toObjects, toText, objectSchema } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { recipientCheck, requireId } from "../kit/http.ts";
import { type Dialect, renderMarkdown } from "../kit/text/markdown.ts";
import { changeAtPath, createCommentChannel } from "../kit/comments/comment.ts";
import { createJiraApi } from "./client.ts";
import { toInvisibleMark } from "../kit/comments/mark.ts";

const schema = {
  description:
    "Comments on the issues of Jira Cloud. The account may browse the project and add comments; an API token or OAuth token with scopes needs read:jira-work and write:jira-work.",
  ...objectSchema(["token", "baseUrl"], {
    token: { ...NON_BLANK, description: "API token of the account `email`. Without `email`: OAuth access token." },
    email: { type: "string", pattern: "^\\S+@\\S+$", description: "The account that the API token belongs to." },
    baseUrl: {
      ...HTTP_URL,
      description:
        "https://<site>.atlassian.net; for a token with scopes https://api.atlassian.com/ex/jira/<cloud id>.",
    },
  }),
} as const;

type JiraOptions = FromSchema<typeof schema>;

export const jira: ChannelDefinition<JiraOptions> = {
  schema,
  create: createJira,
  about: {
    to: "`SHOP-12`, with `/internal` a comment that customers do not see",
    needs:
      "the account browses the project and adds comments; of a token with scopes `read:jira-work` and `write:jira-work`",
    testedAgainst: "a double, compared with Atlassian's OpenAPI file",
  },
};

const RECIPIENT = /^(?<issue>[A-Z][A-Z0-9_]{1,50}-[1-9]\d{0,15})(?<internal>\/internal)?$/;

export function createJira(options: JiraOptions): ChannelDriver {
  return createCommentChannel<{ body: AdfDocument }>(
    {
      name: "jira",
      // The API answers with a redirect to where its files are.
      files: {
        service: "Jira",
        hosts: ["api.media.atlassian.com"],
        locate: ({ id }, { baseUrl }) =>
          id && `${baseUrl.replace(/\/issue$/, "")}/attachment/content/${requireId(id, "Jira")}`,
      },
      // Jira accepts 32,767 characters, and nobody says how it counts a document.
      limit: 10_000,
      addressOf: (to) => to.replace(/\/internal$/, ""),
      checkRecipient: recipientCheck(
        RECIPIENT,
        "the key of an issue such as SHOP-12, or one with /internal for a comment that customers do not see",
      ),
      toMark: toInvisibleMark,
      async render({ text, format }, toMark) {
        return { body: withMark(format === "markdown" ? await toAdf(text) : toPlainAdf(text), toMark()) };
      },
      async add(to, body, call) {
        const { path, isInternal } = parseRecipient(to);
        const answer = await call("POST", path, { ...body, ...(isInternal && { properties: [INTERNAL] }) });
        return toMessageId(answer.body["id"]);
      },
      ...changeAtPath("PUT", (to, messageId) => {
        const id = /^comment_(\d+)$/.exec(messageId)?.[1];
        return id && `${parseRecipient(to).path}/${id}`;
      }),
      async find(to, mark, call) {
        const { body } = await call("GET", `${parseRecipient(to).path}?orderBy=-created&maxResults=100`);
        const found = toObjects(body["comments"]).find((comment) => toText(comment["body"]).includes(mark));
        return found && toMessageId(found["id"]);
      },
    },
    createJiraApi(options),
  );
}

/** Jira Service Management shows a comment with this property to no customer. */
const INTERNAL = { key: "sd.public.comment", value: { internal: true } };

/** The text of the comment's events begins with the mark. */
function withMark(document: AdfDocument, mark: string): AdfDocument {
  const [first, ...rest] = document.content;
  const text = { type: "text", text: mark };
  const content =
    first?.type === "paragraph"
      ? [{ ...first, content: [text, ...(first.content ?? [])] }, ...rest]
      : [{ type: "paragraph", content: [text] }, ...document.content];
  return { ...document, content };
}

function parseRecipient(to: string): { path: string; isInternal: boolean } {
  const { issue, internal } = RECIPIENT.exec(to)?.groups ?? {};
  return { path: `/issue/${issue}/comment`, isInternal: internal !== undefined };
}

/** A comment's id is unique on the site. */
function toMessageId(id: unknown): string {
  return `comment_${requireId(id, "Jira")}`;
}

/** A node of the Atlassian Document Format. https://developer.atlassian.com/cloud/jira/platform/apis/document/structure/ */
export interface AdfNode {
  type: string;
  text?: string;
  attrs?: { language: string };
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

export function toPlainAdf(text: string): AdfDocument {
  return toDocument(toInline(text));
}

function toDocument(nodes: AdfNode[]): AdfDocument {
  return { version: 1, type: "doc", content: toBlocks(nodes) };
}

/** Renders JSON: nodes with a comma after each, so that parts can be joined like other text. */
const ADF: Dialect = {
  text: (plain) => renderNodes(toInline(plain)),
  strong: addMark("strong"),
  em: addMark("em"),
  del: addMark("strike"),
  code: (plain) => renderNodes(toTextNodes(plain).map((node) => ({ ...node, marks: [{ type: "code" }] }))),
  codeBlock: (plain, language) =>
    renderNodes([{ type: "codeBlock", ...(language && { attrs: { language } }), content: toTextNodes(plain) }]),
  quote: (inner) => renderNodes([{ type: "blockquote", content: toBlocks(parseNodes(inner)).flatMap(unquote) }]),
  heading: (inner) => renderParagraph(addMark("strong")(inner)),
  address: (href) => renderNodes([{ type: "text", text: href, marks: [{ type: "link", attrs: { href } }] }]),
  paragraph: renderParagraph,
  list: (items, ordered) =>
    renderNodes([{ type: ordered ? "orderedList" : "bulletList", content: items.map(parseNodes).map(toItem) }]),
  lineBreak: renderNodes([{ type: "hardBreak" }]),
  table: (rows) => renderNodes([{ type: "table", content: rows.map(toTableRow) }]),
};

function toTableRow(cells: string[], index: number): AdfNode {
  const type = index === 0 ? "tableHeader" : "tableCell";
  return { type: "tableRow", content: cells.map((cell) => ({ type, content: toBlocks(parseNodes(cell)) })) };
}

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
function toTextNodes(plain: string): AdfNode[] {
  const text = plain.replaceAll(CONTROLS, "");
  return text === "" ? [] : [{ type: "text", text }];
}

/** A line break is a separate node. */
function toInline(plain: string): AdfNode[] {
  return plain
    .split("\n")
    .flatMap((line, index): AdfNode[] => [...(index > 0 ? [{ type: "hardBreak" }] : []), ...toTextNodes(line)]);
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
