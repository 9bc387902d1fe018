import type { gmail_v1 } from "@googleapis/gmail";
import { MailError } from "../../errors.ts";
import { assembleMail, type MailFacts, readMail, type ReadOptions } from "../message/read-mail.ts";
import { cleanLine } from "../message/text.ts";
import type { FollowOptions, MailAttachment, ReceivedMail } from "../source.ts";
import type { GmailApi } from "./api.ts";
import { readGoogleError } from "./errors.ts";
import { type Look, look } from "./look.ts";

/** Up to this many bytes a mail is fetched as it travelled; of a larger one the texts alone. */
const MAX_RAW_BYTES = 1_000_000;

interface FetchOptions extends ReadOptions {
  /** The names of labels by their ids. */
  labelNames: Map<string, string>;
  signal: AbortSignal;
}

/** Fetches and reads a mail that was looked at; undefined where it was deleted since. */
async function fetchMail(api: GmailApi, looked: Look, options: FetchOptions): Promise<ReceivedMail | undefined> {
  const { labelIds, receivedAt, threadId } = looked;
  const source = await fetchSource(api, looked, options.signal);
  if (source === undefined) return undefined;
  const labels = labelIds.map((id) => options.labelNames.get(id) ?? id);
  const facts: MailFacts = { folder: "", labels, receivedAt, threadId, attachments: source.attachments };
  return {
    mail: await readMail(source.bytes, facts, options),
    marks: {
      spam: labelIds.includes("SPAM"),
      trash: labelIds.includes("TRASH"),
      draft: labelIds.includes("DRAFT"),
    },
  };
}

async function fetchSource(
  api: GmailApi,
  { id, size }: Look,
  signal: AbortSignal,
): Promise<{ bytes: Uint8Array; attachments?: MailFacts["attachments"] } | undefined> {
  const message = await api.message(id, size <= MAX_RAW_BYTES ? "raw" : "full", signal);
  if (message === undefined) return undefined;
  if (message.raw) return { bytes: Buffer.from(message.raw, "base64url") };
  const { header, texts, attachments } = splitPayload(message.payload ?? {});
  return { bytes: assembleMail(header, texts), attachments };
}

export interface ReadMails {
  /** In the order of the ids. */
  mails: ReceivedMail[];
  /** All that are still there, those that are not wanted among them. */
  looks: Look[];
}

/** Requests at one time: Gmail refuses those who ask for many mails at once. */
const SIDE_BY_SIDE = 5;

/** Reads mails by Gmail's ids, without those that are known, are not wanted, or are there no more. */
export async function readMails(
  api: GmailApi,
  ids: string[],
  isWanted: (looked: Look) => boolean,
  options: FollowOptions,
): Promise<ReadMails> {
  const { signal, isKnown } = options;
  if (ids.length === 0) return { mails: [], looks: [] };
  const [labels, looks] = await Promise.all([api.labels(signal), collect(ids, (id) => look(api, id, signal))]);
  const labelNames = new Map(labels.map(({ id, name }) => [id ?? "", name ?? ""]));
  const wanted = looks.filter((looked) => isWanted(looked) && !(looked.mailId && isKnown(looked.mailId)));
  const mails = await collect(wanted, (looked) => fetchMail(api, looked, { ...options, labelNames }));
  return { mails, looks };
}

/** What `take` gives for each of the values, in their order, without `undefined`. */
async function collect<Value, Taken>(
  values: Value[],
  take: (value: Value) => Promise<Taken | undefined>,
): Promise<Taken[]> {
  const taken: Taken[] = [];
  for (let at = 0; at < values.length; at += SIDE_BY_SIDE) {
    const some = await Promise.all(values.slice(at, at + SIDE_BY_SIDE).map(take));
    taken.push(...some.filter((one) => one !== undefined));
  }
  return taken;
}

type Part = gmail_v1.Schema$MessagePart;

export interface SplitPayload {
  /** The mail's own header block. */
  header: Buffer;
  /** Each text with its header, as `assembleMail` takes them. */
  texts: Buffer[];
  attachments: MailAttachment[];
}

/** A text may be as large as a mail; no more of it is read. */
const MAX_TEXT_BYTES = 1_000_000;

const DEEPEST = 20;
const MAX_ATTACHMENTS = 100;

/** Takes apart what Gmail has parsed: the texts come along decoded, the attachments by name and size. */
export function splitPayload(payload: Part): SplitPayload {
  const leaves = toLeaves(payload);
  const texts = leaves.filter((leaf) => isText(leaf) && leaf.body?.data);
  return {
    header: toHeader(payload.headers ?? []),
    texts: texts.map(toText),
    attachments: leaves.filter(isAttachment).slice(0, MAX_ATTACHMENTS).map(toAttachment),
  };
}

/** A mail that is attached is one leaf, whatever is in it. */
function toLeaves(part: Part, depth = 0): Part[] {
  if (!isMultipart(part)) return [part];
  if (depth === DEEPEST) return [];
  const leaves = (part.parts ?? []).flatMap((child) => toLeaves(child, depth + 1));
  const isChoice = part.mimeType?.toLowerCase() === "multipart/alternative";
  return isChoice && leaves.some(isPlainText) ? leaves.filter((leaf) => !isText(leaf) || isPlainText(leaf)) : leaves;
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
  const bytes = Buffer.from(part.body?.data ?? "", "base64url").subarray(0, MAX_TEXT_BYTES);
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

const MAX_TRIES = 5;

/**
 * The same requests, but a mail that Gmail itself fails over, time after time, comes with its headers alone: it would keep all
 * others from coming. What failed is remembered across follows.
 */
export function withTries(api: GmailApi): GmailApi {
  const failures = new Map<string, number>();
  return {
    ...api,
    async message(id, form, signal) {
      if (form === "metadata") return api.message(id, form, signal);
      const failed = failures.get(id) ?? 0;
      if (failed >= MAX_TRIES) return api.message(id, "headers", signal);
      try {
        const message = await api.message(id, form, signal);
        failures.delete(id);
        return message;
      } catch (error) {
        if (isFault(error)) failures.set(id, failed + 1);
        throw error;
      }
    },
  };
}

function isFault(error: unknown): boolean {
  const { status = 0 } = readGoogleError(error instanceof MailError ? error.cause : undefined);
  return status >= 500;
}
