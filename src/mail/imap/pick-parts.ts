import type { MessageStructureObject } from "imapflow";
import { cleanLine } from "../content/clean.ts";
import type { MailAttachment } from "../port.ts";

export interface PickedParts {
  /** Worth reading, in their order. One without a part number is the mail's whole body. */
  texts: MessageStructureObject[];
  attachments: MailAttachment[];
}

const MOST_TEXTS = 5;
const MOST_ATTACHMENTS = 100;
const LONGEST_NAME = 255;

/** Tells what of a mail is text and what is attached, from its BODYSTRUCTURE. */
export function pickParts(structure: MessageStructureObject): PickedParts {
  const leaves = toLeaves(structure);
  const written = leaves.filter((part) => isText(part, "text/plain") && part.size !== 0);
  const shown = written.length > 0 ? written : leaves.filter((part) => isText(part, "text/html"));
  const events = leaves.filter(({ type }) => type === "text/calendar").slice(0, 1);
  return {
    texts: [...shown, ...events].slice(0, MOST_TEXTS),
    attachments: leaves.filter(isAttachment).slice(0, MOST_ATTACHMENTS).map(toAttachment),
  };
}

/** A mail that is attached to a mail stays one part. */
function toLeaves(node: MessageStructureObject): MessageStructureObject[] {
  return node.type.startsWith("multipart/") ? (node.childNodes ?? []).flatMap(toLeaves) : [node];
}

function isText({ type, disposition }: MessageStructureObject, wanted: string): boolean {
  return type === wanted && disposition !== "attachment";
}

function isAttachment(part: MessageStructureObject): boolean {
  if (isText(part, "text/plain") || isText(part, "text/html")) return false;
  const isShown =
    part.id !== undefined && part.disposition !== "attachment" && part.type.startsWith("image/");
  return toName(part) !== "" || !isShown;
}

/** Nearly all that is attached travels in base64: four characters for three bytes, 76 of them a line. */
function toAttachment(part: MessageStructureObject): MailAttachment {
  const { type, size = 0, encoding } = part;
  return {
    name: cleanLine(toName(part), LONGEST_NAME),
    type: cleanLine(type, LONGEST_NAME),
    size: encoding === "base64" ? Math.floor((size * 3 * 76) / (4 * 78)) : size,
  };
}

function toName({ parameters, dispositionParameters }: MessageStructureObject): string {
  return dispositionParameters?.["filename"] ?? parameters?.["name"] ?? "";
}
