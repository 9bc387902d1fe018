import { isAscii, isUtf8 } from "node:buffer";
import { isSameMailbox } from "../message/addresses.ts";
import { describeLarge, FileRefused } from "../../core/shared/net/fetch-file.ts";
import { type FileId, requireMail, withFileIds } from "../message/file-id.ts";
import { assembleMail, type MailPart, pickParts, readAttachment, readMail } from "../message/read-mail.ts";
import type { FollowOptions, MailAttachment, ReceivedMail } from "../../core/ports/mail-source.ts";
import type { GmailApi, GmailHeader, GmailPart, MessageForm } from "./api.ts";
import { readGoogleError } from "./google.ts";

/** Largest mail, in bytes, that is fetched whole. Larger ones are fetched as their texts. */
const MAX_RAW_BYTES = 1_000_000;
/** Limit for each text of a larger mail. */
const MAX_TEXT_BYTES = 1_000_000;
/** Gmail refuses clients that request many mails at once. */
const CONCURRENCY = 5;
/** How often Gmail may fail to give a mail's text. */
const MAX_ATTEMPTS = 5;

/** The facts about a mail before it is fetched. */
export interface MessageInfo {
  /** Gmail's own id. */
  id: string;
  threadId: string | undefined;
  labelIds: string[];
  /** Milliseconds since the epoch. */
  receivedAt: number;
  /** Approximate, in bytes. */
  size: number;
}

/** Reads mails, in the order of the ids, without those that are not wanted or deleted. `infos`: of all that exist. */
export async function readMails(
  api: GmailApi,
  ids: string[],
  isWanted: (info: MessageInfo) => boolean,
  options: FollowOptions,
): Promise<{ mails: ReceivedMail[]; infos: MessageInfo[] }> {
  const { signal } = options;
  if (ids.length === 0) return { mails: [], infos: [] };
  const [listed, own, infos] = await Promise.all([
    api.labels(signal),
    api.ownAddresses(signal),
    collect(ids, (id) => getInfo(api, id, signal)),
  ]);
  const labelNames = new Map(listed.map(({ id, name }) => [id ?? "", name ?? ""]));
  const mails = await collect(infos.filter(isWanted), async (info): Promise<ReceivedMail | undefined> => {
    const { size, labelIds, receivedAt, threadId } = info;
    const source = await fetchSource(api, info, signal);
    if (source === undefined) return undefined;
    const has = (label: string): boolean => labelIds.includes(label);
    const labels = labelIds.map((label) => labelNames.get(label) ?? label);
    const { bytes, attachments } = source;
    const facts = { size, folder: "", labels, receivedAt, threadId, attachments };
    const mail = withFileIds(await readMail(bytes, facts, options), info.id);
    const isOwn = has("SENT") || own.some((address) => isSameMailbox(mail.sender, address));
    return { mail, marks: { spam: has("SPAM"), trash: has("TRASH"), draft: has("DRAFT"), own: isOwn } };
  });
  return { mails, infos };
}

/** Returns the results in order, without `undefined`. */
async function collect<Value, Result>(
  values: Value[],
  work: (value: Value) => Promise<Result | undefined>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < values.length; at += CONCURRENCY) {
    const some = await Promise.all(values.slice(at, at + CONCURRENCY).map(work));
    results.push(...some.filter((result) => result !== undefined));
  }
  return results;
}

/** Undefined if the mail was deleted. */
async function getInfo(api: GmailApi, id: string, signal: AbortSignal): Promise<MessageInfo | undefined> {
  const message = await api.message(id, "minimal", signal);
  return (
    message && {
      id,
      threadId: message.threadId ?? undefined,
      labelIds: message.labelIds ?? [],
      receivedAt: Number(message.internalDate) || Date.now(),
      size: message.sizeEstimate ?? 0,
    }
  );
}

async function fetchSource(
  api: GmailApi,
  { id, size }: MessageInfo,
  signal: AbortSignal,
): Promise<{ bytes: Uint8Array; attachments?: MailAttachment[] } | undefined> {
  const message = await api.message(id, size <= MAX_RAW_BYTES ? "raw" : "full", signal);
  if (message?.raw) return { bytes: Buffer.from(message.raw, "base64url") };
  try {
    return message && assemblePayload(message.payload ?? {});
  } catch {
    // A part that is no part, for example.
    return assemblePayload(toPlaceholder(id).payload ?? {});
  }
}

/** Rebuilds a mail that Gmail has parsed from its header and its texts. */
export function assemblePayload(payload: GmailPart): { bytes: Uint8Array; attachments: MailAttachment[] } {
  const { texts, attachments } = pickParts(payload, describePart);
  const entities = texts.filter(({ body }) => body?.data).map(toEntity);
  return { bytes: assembleMail(toHeader(payload.headers ?? []), entities), attachments };
}

/** Reads a file of a mail. Rejects with a `FileRefused` or a `MailError`. */
export async function readFile(
  api: GmailApi,
  file: FileId,
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<Uint8Array> {
  const isWhole = file.at.startsWith("w");
  const { raw, payload = {} } = (await api.message(file.mail, isWhole ? "raw" : "full", signal)) ?? {};
  const bytes = await requireMail(file, raw ? Buffer.from(raw, "base64url") : assemblePayload(payload).bytes);
  const place = file.at.slice(1);
  if (isWhole) return (await readAttachment(bytes, Number(place))) ?? Buffer.of();
  const { size = 0, data, attachmentId } = findPart(payload, place)?.body ?? {};
  if (size > maxBytes) throw new FileRefused(describeLarge(maxBytes));
  const given = data ?? (attachmentId && (await api.attachment(file.mail, attachmentId, signal))?.data);
  return Buffer.from(given ?? "", "base64url");
}

function findPart(part: GmailPart, partId: string, depth = 0): GmailPart | undefined {
  if (part.partId === partId && part.body) return part;
  if (depth > MAX_DEPTH) return undefined;
  return (part.parts ?? []).map((child) => findPart(child, partId, depth + 1)).find(Boolean);
}

const MAX_DEPTH = 20;

function describePart(part: GmailPart): MailPart<GmailPart> {
  const { mimeType, filename, body, parts } = part;
  return {
    id: part.partId === undefined ? undefined : `p${part.partId}`,
    type: mimeType?.toLowerCase() ?? "",
    name: filename ?? "",
    size: body?.size ?? 0,
    isAttached: Boolean(filename),
    hasContentId: headerOf(part, "content-id") !== undefined,
    children: parts ?? [],
  };
}

function toEntity(part: GmailPart): Buffer {
  const bytes = Buffer.from(part.body?.data ?? "", "base64url");
  // Gmail does not say whether it converted the text from the charset that the header names.
  const isConverted = isUtf8(bytes) && !isAscii(bytes);
  const type = isConverted ? `${part.mimeType}; charset=utf-8` : (headerOf(part, "content-type") ?? part.mimeType);
  const header = toHeader([
    { name: "Content-Type", value: type },
    { name: "Content-Transfer-Encoding", value: "base64" },
  ]);
  return Buffer.concat([header, Buffer.from(`\r\n${bytes.toString("base64", 0, MAX_TEXT_BYTES)}`)]);
}

function headerOf({ headers }: GmailPart, lowerName: string): string | undefined {
  return headers?.find(({ name }) => name?.toLowerCase() === lowerName)?.value ?? undefined;
}

function toHeader(headers: GmailHeader[]): Buffer {
  const toLine = (value = ""): string => value.replaceAll(/[\r\n]+[ \t]*/g, " ");
  return Buffer.from(headers.map(({ name, value }) => `${name}: ${toLine(value ?? "")}\r\n`).join(""));
}

/** The form that is requested instead of one that Gmail fails to give. */
const LESS: Partial<Record<MessageForm, MessageForm>> = { raw: "headers", full: "headers" };

/**
 * After Gmail itself has failed to give a mail several times, requests only its headers, and if it does not give those either,
 * gives a placeholder: one such mail would hold up all others. Remembers failures across follows.
 */
export function withFallback(api: GmailApi): GmailApi {
  const failures = new Map<string, number>();
  return { ...api, message };

  async function message(...[id, form, signal]: Parameters<GmailApi["message"]>): ReturnType<GmailApi["message"]> {
    const key = `${form}/${id}`;
    const count = failures.get(key) ?? 0;
    if (count >= MAX_ATTEMPTS) return LESS[form] ? message(id, LESS[form], signal) : toPlaceholder(id);
    try {
      const given = await api.message(id, form, signal);
      failures.delete(key);
      return given;
    } catch (error) {
      const { status = 0 } = readGoogleError(error instanceof Error ? error.cause : undefined);
      if (status >= 500) failures.set(key, count + 1);
      throw error;
    }
  }
}

/** Its id is always the same. */
function toPlaceholder(id: string): NonNullable<Awaited<ReturnType<GmailApi["message"]>>> {
  return { id, payload: { headers: [{ name: "Message-ID", value: `<${id}@unreadable.invalid>` }] } };
}
