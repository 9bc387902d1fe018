import { Ajv } from "ajv";
import type { AdfDocument, AdfNode } from "../../src/vendors/jira/comments.ts";

const BLOCKS = ["paragraph", "codeBlock", "blockquote", "bulletList", "orderedList"];

/** The content that a node may have: https://developer.atlassian.com/cloud/jira/platform/apis/document/structure/ */
const CONTENT: Record<string, string[]> = {
  doc: [...BLOCKS, "table"],
  paragraph: ["text", "hardBreak"],
  codeBlock: ["text"],
  blockquote: ["paragraph", "codeBlock", "bulletList", "orderedList"],
  bulletList: ["listItem"],
  orderedList: ["listItem"],
  listItem: ["paragraph", "codeBlock", "bulletList", "orderedList"],
  table: ["tableRow"],
  tableRow: ["tableHeader", "tableCell"],
  tableHeader: BLOCKS,
  tableCell: BLOCKS,
};

/** Nodes that may be empty. */
const MAY_BE_EMPTY = new Set(["doc", "paragraph", "codeBlock"]);

const MARKS = {
  type: "array",
  items: {
    oneOf: [
      object({ type: { enum: ["strong", "em", "strike", "code"] } }, ["type"]),
      object({ type: { const: "link" }, attrs: object({ href: { type: "string" } }, ["href"]) }, ["type", "attrs"]),
    ],
  },
};

const LANGUAGE = object({ language: { type: "string" } }, []);

const validate = new Ajv({ strict: false }).compile<AdfDocument>({
  $ref: "#/$defs/doc",
  $defs: {
    text: object({ type: { const: "text" }, text: { type: "string", minLength: 1 }, marks: MARKS }, ["type", "text"]),
    hardBreak: object({ type: { const: "hardBreak" } }, ["type"]),
    ...Object.fromEntries(Object.entries(CONTENT).map(([type, inner]) => [type, nodeOf(type, inner)])),
  },
});

function nodeOf(type: string, inner: string[]): object {
  const content = {
    type: "array",
    minItems: MAY_BE_EMPTY.has(type) ? 0 : 1,
    items: { oneOf: inner.map((name) => ({ $ref: `#/$defs/${name}` })) },
  };
  const fields = {
    type: { const: type },
    content,
    ...(type === "doc" && { version: { const: 1 } }),
    ...(type === "codeBlock" && { attrs: LANGUAGE }),
  };
  const isRequired = type === "doc" || !MAY_BE_EMPTY.has(type);
  return object(fields, ["type", ...(isRequired ? ["content"] : []), ...(type === "doc" ? ["version"] : [])]);
}

function object(properties: object, required: string[]): object {
  return { type: "object", properties, required, additionalProperties: false };
}

/** True for a document of the nodes that the channel uses, nested as Jira takes them. */
export function isAdf(value: unknown): value is AdfDocument {
  return validate(value);
}

/** The text that a reader sees of a document: the address of a link in parentheses unless it is the text. */
export function shownAdf({ content }: AdfDocument): string {
  return content.map(shownBlock).join("\n\n");
}

function shownBlock({ type, content = [] }: AdfNode): string {
  if (type === "paragraph" || type === "codeBlock") return content.map(shownInline).join("");
  return content.map(shownBlock).join("\n");
}

function shownInline({ type, text = "", marks = [] }: AdfNode): string {
  if (type === "hardBreak") return "\n";
  const href = marks.find((mark) => mark.type === "link")?.attrs?.href;
  return href === undefined || href === text ? text : `${text} (${href})`;
}
