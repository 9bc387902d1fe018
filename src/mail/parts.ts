import { cleanLine } from "./message/text.ts";
import type { MailAttachment } from "./source.ts";

/** A part of a mail, as a server describes it without its content. */
export interface MailPart<Node> {
  /** In lower case: `text/plain`. */
  type: string;
  /** The file name, or empty. */
  name: string;
  /** Decoded size in bytes, as near as the server tells. */
  size: number;
  isAttached: boolean;
  hasContentId: boolean;
  /** Of a multipart. A mail that is attached to a mail is one part. */
  children: Node[];
}

const MAX_DEPTH = 20;
const MAX_TEXTS = 5;
const MAX_ATTACHMENTS = 100;
const MAX_NAME_LENGTH = 255;

/** Picks the texts that are worth reading from a mail that is too large to be fetched whole, and lists its attachments. */
export function pickParts<Node>(
  root: Node,
  describe: (node: Node) => MailPart<Node>,
): { texts: Node[]; attachments: MailAttachment[] } {
  const leaves = toLeaves(root, 0);
  const texts = leaves.filter(({ part }) => isText(part) && part.size > 0);
  const invitations = leaves.filter(({ part }) => part.type === "text/calendar").slice(0, 1);
  return {
    texts: [...texts, ...invitations].slice(0, MAX_TEXTS).map(({ node }) => node),
    attachments: leaves
      .filter(({ part }) => isAttachment(part))
      .slice(0, MAX_ATTACHMENTS)
      .map(({ part }) => toAttachment(part)),
  };

  function toLeaves(node: Node, depth: number): { node: Node; part: MailPart<Node> }[] {
    const part = describe(node);
    if (!part.type.startsWith("multipart/")) return [{ node, part }];
    if (depth === MAX_DEPTH) return [];
    const inner = part.children.flatMap((child) => toLeaves(child, depth + 1));
    const isChoice =
      part.type === "multipart/alternative" &&
      inner.some((leaf) => isText(leaf.part, "text/plain") && leaf.part.size > 0);
    return isChoice ? inner.filter((leaf) => !isText(leaf.part, "text/html")) : inner;
  }
}

function isText({ type, isAttached }: MailPart<unknown>, ...types: string[]): boolean {
  return !isAttached && (types.length > 0 ? types : ["text/plain", "text/html"]).includes(type);
}

/** An image that the HTML shows counts only if it has a name. */
function isAttachment(part: MailPart<unknown>): boolean {
  const isShown = part.hasContentId && !part.isAttached && part.type.startsWith("image/");
  return !isText(part) && (part.name !== "" || !isShown);
}

function toAttachment({ name, type, size }: MailPart<unknown>): MailAttachment {
  return { name: cleanLine(name, MAX_NAME_LENGTH), type: cleanLine(type, MAX_NAME_LENGTH), size };
}
