import type { gmail_v1 } from "@googleapis/gmail";
import { cleanLine } from "../content/clean.ts";
import type { MailAttachment } from "../port.ts";

type Part = gmail_v1.Schema$MessagePart;

export interface SplitPayload {
  /** The mail's own header block. */
  header: Buffer;
  /** Each text with its header, as `assembleMail` takes them. */
  texts: Buffer[];
  attachments: MailAttachment[];
}

/** A text may be as large as a mail; no more of it is read. */
const MOST_TEXT_BYTES = 1_000_000;

const DEEPEST = 20;
const MOST_ATTACHMENTS = 100;

/** Takes apart what Gmail has parsed: the texts come along decoded, the attachments by name and size. */
export function splitPayload(payload: Part): SplitPayload {
  const leaves = toLeaves(payload);
  const texts = leaves.filter((leaf) => isText(leaf) && leaf.body?.data);
  return {
    header: toHeader(payload.headers ?? []),
    texts: texts.map(toText),
    attachments: leaves.filter(isAttachment).slice(0, MOST_ATTACHMENTS).map(toAttachment),
  };
}

/** A mail that is attached is one leaf, whatever is in it. */
function toLeaves(part: Part, depth = 0): Part[] {
  if (!isMultipart(part)) return [part];
  if (depth === DEEPEST) return [];
  const leaves = (part.parts ?? []).flatMap((child) => toLeaves(child, depth + 1));
  const isChoice = part.mimeType?.toLowerCase() === "multipart/alternative";
  return isChoice && leaves.some(isPlainText)
    ? leaves.filter((leaf) => !isText(leaf) || isPlainText(leaf))
    : leaves;
}

function isPlainText(part: Part): boolean {
  return isText(part) && part.mimeType?.toLowerCase() === "text/plain";
}

function isMultipart({ mimeType }: Part): boolean {
  return mimeType?.toLowerCase().startsWith("multipart/") ?? false;
}

function isText({ mimeType, filename }: Part): boolean {
  return !filename && ["text/plain", "text/html"].includes(mimeType?.toLowerCase() ?? "");
}

/** Not what a text shows: a picture without a name, which it refers to by an id. */
function isAttachment(part: Part): boolean {
  const { filename, mimeType = "" } = part;
  const isShown = mimeType?.startsWith("image/") && headerOf(part, "content-id") !== undefined;
  return !isText(part) && Boolean(filename || !isShown);
}

function toAttachment({ filename, mimeType, body }: Part): MailAttachment {
  return {
    name: cleanLine(filename ?? ""),
    type: cleanLine(mimeType ?? "", 100).toLowerCase(),
    size: body?.size ?? 0,
  };
}

function toText(part: Part): Buffer {
  const bytes = Buffer.from(part.body?.data ?? "", "base64url").subarray(0, MOST_TEXT_BYTES);
  const header = toHeader([
    { name: "Content-Type", value: toContentType(part, bytes) },
    { name: "Content-Transfer-Encoding", value: "base64" },
  ]);
  return Buffer.concat([header, Buffer.from(`\r\n${bytes.toString("base64")}`)]);
}

/** Gmail does not say whether a text that it gives is still in the charset that its header names: UTF-8 is told by looking. */
function toContentType(part: Part, bytes: Buffer): string {
  if (isUtf8BeyondAscii(bytes)) return `${part.mimeType}; charset=utf-8`;
  return headerOf(part, "content-type") ?? `${part.mimeType}`;
}

function headerOf({ headers }: Part, lowerName: string): string | undefined {
  return headers?.find(({ name }) => name?.toLowerCase() === lowerName)?.value ?? undefined;
}

function isUtf8BeyondAscii(bytes: Buffer): boolean {
  try {
    // A stream: the end may be cut within a character.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true }).length < bytes.length;
  } catch {
    return false;
  }
}

function toHeader(headers: gmail_v1.Schema$MessagePartHeader[]): Buffer {
  return Buffer.from(headers.map(({ name, value }) => `${name}: ${toLine(value)}\r\n`).join(""));
}

function toLine(value: string | null | undefined): string {
  return (value ?? "").replaceAll(/[\r\n]+[ \t]*/g, " ");
}
