import type { FetchMessageObject, FetchQueryObject, MessageStructureObject } from "imapflow";
import { describeLarge, FileRefused } from "../../core/shared/net/fetch-file.ts";
import { type FileId, requireMail, withFileIds } from "../message/file-id.ts";
import {
  assembleMail,
  type MailFacts,
  type MailPart,
  pickParts,
  readAttachment,
  readMail,
} from "../message/read-mail.ts";
import type { FollowOptions, ReceivedMail } from "../../core/ports/mail-source.ts";
import { fetchMessages, isRefusal, type OpenFolder, search } from "./connect.ts";

/** Largest mail, in bytes, that is fetched whole. Larger ones are fetched as their header and texts. */
const MAX_MAIL_BYTES = 512 * 1024;
const MAX_HEADER_BYTES = 256 * 1024;
/** Limit for all texts of a large mail together. */
const MAX_TEXT_BYTES = 512 * 1024;
/** How often a server is asked for a part of a mail that it fails to give. */
const MAX_ATTEMPTS = 5;

const FACTS = { uid: true, size: true, flags: true, internalDate: true, labels: true, threadId: true };

export interface Reading {
  folder: OpenFolder;
  options: FollowOptions;
  failures: Failures;
}

/** Counts failed attempts. It outlives the connection, since a mail that a server cannot read can end it. */
export type Failures = Map<string, number>;

/** A mail whose text is not fetched yet. */
export interface FoundMail {
  uid: number;
  /** Undefined if the server fails to give them. */
  facts: FetchMessageObject | undefined;
}

/** Looks at mails before their text is fetched. Of a backlog, leaves out those that are too old. */
export async function findMails(
  reading: Reading,
  uids: number[],
  backlog: { since: number } | undefined,
): Promise<FoundMail[]> {
  const facts = await fetchEach(reading, uids, {
    part: "facts",
    query: FACTS,
    // Without a date it is an unrequested change of flags.
    read: async (message) => (message.internalDate === undefined ? undefined : message),
  });
  const mails = uids.map((uid) => ({ uid, facts: facts.get(uid) }));
  return backlog ? mails.filter(({ facts: found }) => !found || toTime(found.internalDate) >= backlog.since) : mails;
}

/**
 * Reads mails, in the order of their uids. A deleted mail is left out. A mail that the server fails to give is read as far as
 * possible: without its text, or as a placeholder. Rejects if the connection is lost.
 */
export async function readMails(reading: Reading, mails: FoundMail[]): Promise<ReceivedMail[]> {
  const facts = new Map(mails.map((mail) => [mail.uid, mail.facts]));
  const isLarge = (mail: FoundMail): boolean => (mail.facts?.size ?? 0) > MAX_MAIL_BYTES;
  const uids = mails.filter((mail) => !isLarge(mail)).map(({ uid }) => uid);
  const received = await fetchEach(reading, uids, {
    part: "text",
    query: { source: true },
    read: async ({ uid, source }) => source && toReceived(reading, { uid, facts: facts.get(uid) }, source),
  });
  for (const { uid, facts: known } of mails.filter(isLarge)) {
    const mail = await readLarge(reading, uid, known);
    if (mail) received.set(uid, mail);
  }

  const missing = mails.map(({ uid }) => uid).filter((uid) => !received.has(uid));
  if (missing.length > 0) {
    const headers = await fetchEach(reading, missing, {
      part: "header",
      query: { headers: true },
      read: async (message) =>
        message.headers &&
        toReceived(reading, { uid: message.uid, facts: facts.get(message.uid) }, message.headers, { isCut: true }),
    });
    for (const uid of await search(reading.folder.client, { uid: missing.join(",") })) {
      received.set(uid, headers.get(uid) ?? (await toPlaceholder(reading, uid)));
    }
  }
  return mails.flatMap(({ uid }) => received.get(uid) ?? []);
}

/** Fetches only the header and the texts. Undefined if the server fails to give them. */
async function readLarge(
  reading: Reading,
  uid: number,
  facts: FetchMessageObject | undefined,
): Promise<ReceivedMail | undefined> {
  const structures = await fetchEach(reading, [uid], {
    part: "structure",
    query: { bodyStructure: true },
    read: async ({ bodyStructure }) => bodyStructure,
  });
  const structure = structures.get(uid);
  if (!structure) return undefined;
  const { texts, attachments } = pickParts(structure, describePart);
  const maxLength = Math.floor(MAX_TEXT_BYTES / Math.max(texts.length, 1));
  const isCut = texts.some(({ size = 0 }) => size > maxLength);
  const bodyParts = texts.flatMap(({ part }) =>
    part === undefined ? [{ key: "TEXT", maxLength }] : [`${part}.MIME`, { key: part, maxLength }],
  );
  const mails = await fetchEach(reading, [uid], {
    part: "parts",
    query: { bodyParts: [{ key: "HEADER", maxLength: MAX_HEADER_BYTES }, ...bodyParts] },
    read: async ({ headers, bodyParts: bodies = new Map() }) => {
      if (!headers) return undefined;
      const isMissing = texts.some(({ part = "text" }) => !bodies.has(part));
      const source = toSource(headers, texts, (key) => bodies.get(key) ?? Buffer.of());
      return toReceived(reading, { uid, facts }, source, { attachments, isCut: isCut || isMissing });
    },
  });
  return mails.get(uid);
}

function toSource(header: Buffer, texts: MessageStructureObject[], bodyOf: (key: string) => Buffer): Uint8Array {
  // Without a part number, the text is the whole body.
  if (texts[0] && texts[0].part === undefined) return Buffer.concat([header, bodyOf("text")]);
  return assembleMail(
    header,
    texts.map(({ part }) => Buffer.concat([bodyOf(`${part}.mime`), bodyOf(`${part}`)])),
  );
}

function describePart(node: MessageStructureObject): MailPart<MessageStructureObject> {
  const { type, size = 0, encoding, parameters, disposition, dispositionParameters, id, childNodes } = node;
  return {
    id: `p${node.part ?? "1"}`,
    type,
    name: dispositionParameters?.["filename"] ?? parameters?.["name"] ?? "",
    // Base64: four characters for three bytes, 76 of them a line of 78.
    size: encoding === "base64" ? Math.floor((size * 3 * 76) / (4 * 78)) : size,
    isAttached: disposition === "attachment",
    hasContentId: id !== undefined,
    children: childNodes ?? [],
  };
}

async function toReceived(
  { folder, options }: Reading,
  { uid, facts }: FoundMail,
  source: Uint8Array,
  { attachments, isCut = false }: Pick<MailFacts, "attachments"> & { isCut?: boolean } = {},
): Promise<ReceivedMail> {
  const { flags = new Set<string>(), labels = new Set<string>(), threadId, internalDate, size } = facts ?? {};
  const keywords = [...flags].filter((flag) => !flag.startsWith("\\"));
  const mail = await readMail(
    source,
    {
      size,
      folder: folder.name,
      labels: [...keywords, ...[...labels].map((label) => label.replace(/^\\/, ""))],
      receivedAt: toTime(internalDate),
      threadId: threadId || undefined,
      attachments,
    },
    options,
  );
  // The use of the folder, a flag or one of Gmail's labels can say what a mail is.
  const marks = new Set([folder.use, ...flags, ...labels].map((mark) => mark?.toLowerCase()));
  const hasAny = (...names: string[]): boolean => names.some((name) => marks.has(name));
  return {
    mail: { ...withFileIds(mail, `${folder.uidValidity}.${uid}.${folder.name}`), truncated: mail.truncated || isCut },
    marks: {
      spam: hasAny("\\junk", "\\spam", "$junk", "junk"),
      trash: hasAny("\\trash", "\\deleted"),
      draft: hasAny("\\drafts", "\\draft"),
      own: hasAny("\\sent"),
    },
  };
}

/** Splits the name that a mail has here. */
export function parseMailName(name: string): { uidValidity: string; uid: number; folder: string } {
  const [uidValidity = "", uid = "", ...folder] = name.split(".");
  return { uidValidity, uid: Number(uid), folder: folder.join(".") };
}

/** Reads a file of a mail. Rejects with a `FileRefused`, or with the library's error. */
export async function readFile({ client }: OpenFolder, file: FileId, maxBytes: number): Promise<Uint8Array> {
  const { uid } = parseMailName(file.mail);
  const isWhole = file.at.startsWith("w");
  const query: FetchQueryObject = isWhole
    ? { source: { maxLength: MAX_MAIL_BYTES } }
    : { bodyParts: [{ key: "HEADER", maxLength: MAX_HEADER_BYTES }] };
  let found: Uint8Array | undefined;
  for await (const message of fetchMessages(client, [uid], query)) found ??= message.source ?? message.headers;
  const bytes = await requireMail(file, found);
  const place = file.at.slice(1);
  if (isWhole) return (await readAttachment(bytes, Number(place))) ?? Buffer.of();
  const { content } = await client.download(String(uid), place, { uid: true });
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of content ?? []) {
    const piece = Buffer.from(chunk);
    length += piece.length;
    if (length > maxBytes) throw new FileRefused(describeLarge(maxBytes));
    chunks.push(piece);
  }
  return Buffer.concat(chunks);
}

/** How many mails at the end of a folder are asked when they were received: one that was moved there may have an old date. */
const LAST_MAILS = 100;

/** When the newest mail of a folder was received, in milliseconds since the epoch; 0: it is empty. */
export async function findNewest(reading: Reading): Promise<number> {
  const { client } = reading.folder;
  const { exists = 0 } = client.mailbox || {};
  if (exists === 0) return 0;
  const uids = await search(client, { seq: `${Math.max(1, exists - LAST_MAILS + 1)}:*` });
  const query = { internalDate: true };
  const found = await fetchEach(reading, uids, { part: "date", query, read: async (message) => message });
  return newestOf([...found.values()]);
}

/** When the newest of the mails was received, in milliseconds since the epoch; 0: the server does not say. */
export function newestOf(mails: (FetchMessageObject | undefined)[]): number {
  return Math.max(0, ...mails.map((mail) => (mail?.internalDate instanceof Date ? mail.internalDate.getTime() : 0)));
}

/** Replaces a mail that the server does not give at all. Its id is always the same. */
async function toPlaceholder(reading: Reading, uid: number): Promise<ReceivedMail> {
  const { name, uidValidity } = reading.folder;
  const id = `${uid}.${uidValidity}.${encodeURIComponent(name)}@unreadable.invalid`;
  return toReceived(reading, { uid, facts: undefined }, Buffer.from(`Message-ID: <${id}>\r\n`), { isCut: true });
}

/** Milliseconds since the epoch; now for a date in an unknown form. */
function toTime(internalDate: Date | string | undefined): number {
  return internalDate instanceof Date ? internalDate.getTime() : Date.now();
}

/** The parts of a mail that are fetched. */
interface Request<Value> {
  /** Failures are counted for each part by itself. */
  part: string;
  query: FetchQueryObject;
  /** Called as soon as a message is there. Undefined: it is not the answer to the query. */
  read(message: FetchMessageObject): Promise<Value | undefined>;
}

/**
 * Fetches a part of each mail, in one command if possible. Mails that the server failed to give are requested one by one, until
 * `MAX_ATTEMPTS`. Returns what the server gave. Rejects if the connection is lost.
 */
async function fetchEach<Value>(
  { folder, failures }: Reading,
  uids: number[],
  { part, query, read }: Request<Value>,
): Promise<Map<number, Value>> {
  const values = new Map<number, Value>();
  const keyOf = (uid: number): string => `${part}/${folder.uidValidity}/${uid}/${folder.name}`;
  const failuresOf = (uid: number): number => failures.get(keyOf(uid)) ?? 0;

  await request(uids.filter((uid) => failuresOf(uid) === 0));
  for (const uid of uids) {
    while (failuresOf(uid) > 0 && failuresOf(uid) < MAX_ATTEMPTS) await request([uid]);
  }
  return values;

  async function request(some: number[]): Promise<void> {
    let isAnswered = false;
    try {
      for await (const message of fetchMessages(folder.client, some, query)) {
        // A mail that cannot be read must not stop the others.
        const value = await read(message).catch(() => undefined);
        if (value !== undefined) values.set(message.uid, value);
      }
      isAnswered = true;
    } catch (error) {
      if (!isRefusal(error)) throw error;
    } finally {
      for (const uid of some) {
        if (isAnswered || values.has(uid)) failures.delete(keyOf(uid));
        else failures.set(keyOf(uid), failuresOf(uid) + 1);
      }
    }
  }
}
