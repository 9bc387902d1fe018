import { isUtf8 } from "node:buffer";
import type { Email } from "postal-mime";
import { decodeBytes } from "./decode-bytes.ts";
import { parseMime } from "./mime.ts";
import { endOfLine } from "./split-header.ts";

export type ParsedBody = Pick<Email, "text" | "html" | "attachments">;

/** How much of a mail that cannot be divided is taken for its text. */
const MOST_RAW_BYTES = 1_000_000;
/** How far into a body its first boundary is looked for. */
const LOOK_INTO = 65_536;
const END_OF_HEADER = Buffer.from("\r\n");
const NO_CHARACTER = "\ufffd";

/**
 * Divides the body of a mail, as its header says or, where that says too little, as it looks. `content`: the fields of the header that
 * say how the body is encoded. `charset`: that of bytes which say nothing of theirs. Never rejects.
 */
export async function parseBody(content: Buffer, body: Buffer, charset: string): Promise<ParsedBody> {
  return (
    (await parseDeclared(content, body, charset)) ?? (await parseUndeclared(body)) ?? salvage(body, charset)
  );
}

/** Once more in UTF-8 where something came out unreadable: bytes of some other charset that nobody declared. */
async function parseDeclared(
  content: Buffer,
  body: Buffer,
  charset: string,
): Promise<ParsedBody | undefined> {
  const first = await parseOnce(content, body);
  if (first === undefined || !isUnreadable(first) || (isUtf8(content) && isUtf8(body))) return first;
  const again = await parseOnce(toUtf8(content, charset), toUtf8(body, charset));
  return again && !isUnreadable(again) ? again : first;
}

/** Undefined where there is nothing in it, or nothing that can be understood. */
async function parseOnce(content: Buffer, body: Buffer): Promise<ParsedBody | undefined> {
  try {
    const parsed = await parseMime(Buffer.concat([content, END_OF_HEADER, body]));
    const isEmpty = !parsed.text && !parsed.html && parsed.attachments.length === 0;
    return isEmpty ? undefined : parsed;
  } catch {
    return undefined;
  }
}

/** A mail whose header has lost what divides its parts: the first line that looks like a boundary is one. */
async function parseUndeclared(body: Buffer): Promise<ParsedBody | undefined> {
  const boundary = /^--([\w'()+,./:=?-]{1,70})\r?$/m.exec(body.toString("latin1", 0, LOOK_INTO))?.[1];
  if (boundary === undefined) return undefined;
  return await parseOnce(Buffer.from(`Content-Type: multipart/mixed; boundary="${boundary}"\r\n`), body);
}

/** What is left of the text of a mail that cannot be divided. */
function salvage(body: Buffer, charset: string): ParsedBody {
  const lines = decodeBytes(body.subarray(0, MOST_RAW_BYTES), charset).split("\n");
  const text = lines.filter((line) => !/^(?:--|content-[a-z-]+:)/i.test(line)).join("\n");
  return { text, attachments: [] };
}

function isUnreadable({ text, html, attachments }: ParsedBody): boolean {
  return [text, html, ...attachments.map(({ filename }) => filename)].some((part) =>
    part?.includes(NO_CHARACTER),
  );
}

/** Line by line, so that those in UTF-8 stay as they are. */
function toUtf8(bytes: Buffer, charset: string): Buffer {
  const lines: Buffer[] = [];
  for (let at = 0; at < bytes.length; at = endOfLine(bytes, at))
    lines.push(bytes.subarray(at, endOfLine(bytes, at)));
  return Buffer.concat(lines.map((line) => (isUtf8(line) ? line : Buffer.from(decodeBytes(line, charset)))));
}
