import type { ImapFlow } from "imapflow";
import { isObject, parseObject } from "../../core/shared/json.ts";
import type { DriverContext } from "../../core/ports/driver.ts";
import { createWakeUp, DAY_MS, type WakeUp } from "../../core/shared/time.ts";
import { shareAccessTokens } from "../oauth.ts";
import type { ImapOptions } from "../options.ts";
import type { FollowOptions, MailBatch, MailSource } from "../../core/ports/mail-source.ts";
import { GOOGLE_AUTHSERV_ID } from "../message/authentication.ts";
import { FileRefused } from "../../core/shared/net/fetch-file.ts";
import { parseFileId } from "../message/file-id.ts";
import { withoutKnown } from "../message/known.ts";
import { createAccount } from "./account.ts";
import {
  createLogin,
  disconnect,
  openFolder,
  type OpenFolder,
  resolveServer,
  search,
  toMailboxUrl,
  toMailError,
} from "./connect.ts";
import {
  type Failures,
  findMails,
  findNewest,
  newestOf,
  parseMailName,
  type Reading,
  readFile as readFileOf,
  readMails,
} from "./fetch.ts";

const TIMING: Timing = { renewMs: 30_000, pollMs: 60_000, answerMs: 60_000 };

/** Reads a mailbox over IMAP (RFC 3501), with one connection for each folder. */
export function createImap(
  options: ImapOptions,
  timings: Partial<Timing> = {},
  { refreshTokens }: Pick<DriverContext, "refreshTokens"> = {},
): MailSource {
  const server = resolveServer(options);
  const { folders, password, oauth } = options;
  const tokens = oauth && shareAccessTokens({ ...oauth, tokenUrl: oauth.tokenUrl ?? "" }, refreshTokens);
  const logIn = createLogin(server, options, tokens);
  const timing = { ...TIMING, ...timings };
  const failures: Failures = new Map();

  async function check(signal: AbortSignal): Promise<void> {
    const client = await logIn(signal);
    try {
      for (const folder of folders) {
        await openFolder(client, folder, timing.answerMs).catch((error: unknown) => {
          throw toMailError(error, server, folder);
        });
      }
    } finally {
      await disconnect(client);
    }
  }

  async function* follow(folder: string, given: FollowOptions): AsyncGenerator<MailBatch> {
    const request = { ...given, authservId: given.authservId ?? findAuthservId(server) };
    const client = await logIn(request.signal, request.refreshTokens);
    try {
      yield* followFolder(client, folder, { options: request, timing, failures });
    } catch (error) {
      if (!request.signal.aborted) throw toMailError(error, server, folder);
    } finally {
      await disconnect(client);
    }
  }

  /** Over its own connection: those that follow folders are busy. */
  async function readFile(id: string, { maxBytes, signal }: { maxBytes: number; signal: AbortSignal }) {
    const file = parseFileId(id);
    const { uidValidity, folder } = parseMailName(file.mail);
    if (!folders.includes(folder)) throw new FileRefused("its mail is in a folder that is not followed");
    const client = await logIn(signal, refreshTokens?.(mailbox));
    try {
      const opened = await openFolder(client, folder, timing.answerMs);
      if (String(opened.uidValidity) !== uidValidity) throw new FileRefused("its mail has another number now");
      return await readFileOf(opened, file, maxBytes);
    } catch (error) {
      throw error instanceof FileRefused ? error : toMailError(error, server, folder);
    } finally {
      await disconnect(client);
    }
  }

  const addresses = server.user.includes("@") ? [server.user.toLowerCase()] : [];
  const mailbox = toMailboxUrl(server);
  const account = createAccount(server, { password, tokens, logIn, refreshTokens: refreshTokens?.(mailbox) });
  return { mailbox, addresses, folders, check, follow, readFile, account };
}

/** The server whose authentication results count, if the mailbox is at a service that names it. */
export function findAuthservId({ host }: Pick<ImapOptions, "host">): string | undefined {
  return /^imap\.(?:gmail|googlemail)\.com$/i.test(host) ? GOOGLE_AUTHSERV_ID : undefined;
}

/** Lists the folders that can be followed, INBOX first. Rejects with a `MailError`. */
export async function listFolders(source: Partial<ImapOptions>, signal: AbortSignal): Promise<string[]> {
  const options: ImapOptions = { host: "", user: "", tls: "implicit", folders: [], ...source };
  const server = resolveServer(options);
  const client = await createLogin(server, options)(signal);
  try {
    const listed = await client.list();
    const paths = listed.filter(({ flags }) => !flags.has("\\Noselect")).map(({ path }) => path);
    return paths.toSorted((one, other) => Number(other === "INBOX") - Number(one === "INBOX"));
  } catch (error) {
    throw toMailError(error, server);
  } finally {
    await disconnect(client);
  }
}

/** All in milliseconds. */
export interface Timing {
  /** How long a connection stays in IDLE before the folder is opened again: it may be gone, or recreated, without a word. */
  renewMs: number;
  /** How often a server without IDLE is asked for new mail. */
  pollMs: number;
  /** How long a server may take to open a folder. */
  answerMs: number;
}

/** How many mails are looked at in one command. Their uids fit into a line of 8 KB, the limit of many servers. */
const CHUNK_SIZE = 500;

export interface FollowContext extends Omit<Reading, "folder"> {
  timing: Timing;
}

/** Follows a folder over a connection that is logged in. Rejects with the library's error; never ends by itself. */
export async function* followFolder(
  client: ImapFlow,
  name: string,
  { options, timing, failures }: FollowContext,
): AsyncGenerator<MailBatch> {
  const changes = createChangeSignal(client);
  let position = parsePosition(options.position);
  let isFirst = true;
  for (;;) {
    const folder = await openFolder(client, name, timing.answerMs);
    position = resumeFrom(position, folder, options.since);
    const reading = { folder, options, failures };
    // Whole seconds: the mails that are here already do not count as new.
    position.newest ??= (await findNewest(reading)) + 1;
    position.begun ??= position.newest;
    do {
      changes.reset();
      const { backlog, fresh } = await listMails(folder, position);
      if (isFirst) {
        yield { mails: [], position: writePosition(position), remaining: backlog.length + fresh.length };
        isFirst = false;
      }
      if (position.backlog) {
        const end: number = position.backlog.until;
        position = yield* giveMails(reading, position, { uids: backlog, end, behind: fresh.length });
      }
      if (fresh.length > 0) {
        position = yield* giveMails(reading, position, { uids: fresh, end: fresh.at(-1) ?? 0, behind: 0 });
      }
    } while (await waitForChange(client, changes, timing));
  }
}

/** Lists the uids of what is not processed yet, ascending. */
async function listMails(
  { client }: OpenFolder,
  { uid, backlog }: Position,
): Promise<{ backlog: number[]; fresh: number[] }> {
  const last = backlog?.until ?? uid;
  // Servers search by days, in a time zone of their choice, and some refuse a day in the future.
  const day = new Date(Math.max(0, Math.min(backlog?.since ?? 0, Date.now()) - 2 * DAY_MS));
  const old = backlog ? await search(client, { uid: `${uid + 1}:${last}`, since: day }) : [];
  const found = await search(client, { uid: `${last + 1}:*` });
  // `*` is the last mail, even if its uid is below the range.
  return { backlog: old, fresh: found.filter((each) => each > last) };
}

interface Stretch {
  uids: number[];
  /** Up to this uid everything is processed afterward. */
  end: number;
  /** How many mails wait behind these. */
  behind: number;
}

/** Returns the position behind the mails. */
async function* giveMails(
  reading: Reading,
  from: Position,
  { uids, end, behind }: Stretch,
): AsyncGenerator<MailBatch, Position> {
  let position = from;
  let unread = uids.length + behind;
  for (const chunk of toChunks(uids, CHUNK_SIZE)) {
    const chunkEnd = chunk.at(-1) === uids.at(-1) ? end : (chunk.at(-1) ?? end);
    unread -= chunk.length;
    const found = await findMails(reading, chunk, from.backlog);
    let left = found.length;
    for (const batch of toChunks(found, reading.options.batchSize)) {
      const read = await readMails(reading, batch);
      const mails = from.backlog ? await withoutKnown(read, reading.options) : read;
      left -= batch.length;
      const uid = left > 0 ? (batch.at(-1)?.uid ?? chunkEnd) : chunkEnd;
      position = advance(position, uid, newestOf(batch.map(({ facts }) => facts)));
      yield { mails, position: writePosition(position), remaining: left + unread };
    }
  }
  return position;
}

/** At least one chunk, which may be empty. */
function toChunks<Item>(items: Item[], size: number): Item[][] {
  const count = Math.max(1, Math.ceil(items.length / size));
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size));
}

/** Resolves with false when it is time to open the folder again. */
async function waitForChange(client: ImapFlow, changes: WakeUp, { renewMs, pollMs }: Timing): Promise<boolean> {
  if (!client.capabilities.has("IDLE")) return changes.wait(pollMs);
  // The next command ends it.
  client.idle().catch(() => undefined);
  return changes.wait(renewMs);
}

/** Wakes when the server announces mail or the connection is lost. */
function createChangeSignal(client: ImapFlow): WakeUp {
  const changes = createWakeUp();
  client.on("exists", changes.wake);
  client.on("close", changes.wake);
  return {
    ...changes,
    reset() {
      // A lost connection stays lost.
      if (client.usable) changes.reset();
    },
  };
}

/**
 * How far a folder is read. UIDs are enough to find new mail: the mod-sequences of CONDSTORE and QRESYNC also count changes of
 * flags.
 */
export interface Position {
  uidValidity: bigint;
  /** The last mail that was processed. */
  uid: number;
  /** When the newest mail so far was received, in milliseconds since the epoch by the server's clock. Absent: not known yet. */
  newest?: number;
  /** The same, when the folder was first opened: earlier mails do not count as new. */
  begun?: number;
  /** The mails that were in the folder when reading began. Absent once they are processed. */
  backlog?: {
    /** The uid of the last of them. */
    until: number;
    /** Earlier ones are left out. Milliseconds since the epoch. */
    since: number;
  };
}

/**
 * Starts over if the folder's uids are others, or if an earlier state of the folder was restored: with what was received since the
 * newest mail, if `since` is later because of a wrong clock. Without `since`, a new folder begins at its next uid, and one that
 * starts over where it began, so that only the server's clock counts.
 */
export function resumeFrom(
  position: Position | undefined,
  { uidValidity, uidNext }: { uidValidity: bigint; uidNext: number },
  since: number | undefined,
): Position {
  if (position?.uidValidity === uidValidity && position.uid < uidNext) return position;
  const begun = since === undefined ? position?.begun : Math.min(since, position?.newest ?? since);
  const from = position?.backlog?.since ?? begun;
  if (from === undefined) return { uidValidity, uid: uidNext - 1 };
  return { ...position, uidValidity, uid: 0, backlog: uidNext > 1 ? { until: uidNext - 1, since: from } : undefined };
}

/** The position after the mails up to this uid are processed. `newest`: when the newest of them was received. */
export function advance({ backlog, ...position }: Position, uid: number, newest = 0): Position {
  const isBehind = backlog !== undefined && uid < backlog.until;
  return { ...position, uid, newest: Math.max(position.newest ?? 0, newest), ...(isBehind && { backlog }) };
}

export function writePosition({ uidValidity, ...rest }: Position): string {
  return JSON.stringify({ uidValidity: String(uidValidity), ...rest });
}

export function parsePosition(text: string | undefined): Position | undefined {
  const { uidValidity, uid, newest, begun, backlog } = parseObject(text ?? "");
  if (typeof uidValidity !== "string" || !/^\d{1,20}$/.test(uidValidity)) return undefined;
  const position = {
    uidValidity: BigInt(uidValidity),
    uid: Number(uid),
    ...(typeof newest === "number" && { newest }),
    ...(typeof begun === "number" && { begun }),
  };
  if (!isObject(backlog)) return position;
  return { ...position, backlog: { until: Number(backlog["until"]), since: Number(backlog["since"]) } };
}
