import { readFileSync } from "node:fs";
import path from "node:path";
import { Ajv } from "ajv";
import type { AdfDocument, AdfNode } from "../../src/channels/comments/adf.ts";

const SCHEMA = JSON.parse(readFileSync(path.join(import.meta.dirname, "schemas/adf.json"), "utf8"));

const validate = new Ajv({ strict: false }).compile<AdfDocument>(SCHEMA);

/** True for a document that Atlassian's schema accepts, as far as it has only nodes that the channel uses. */
export function isAdf(value: unknown): value is AdfDocument {
  return validate(value);
}

/** What a reader sees of a document: the address of a link in parentheses unless it is the text. */
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
