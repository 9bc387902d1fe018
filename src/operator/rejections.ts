import { messageOf } from "../core/errors.ts";
import type { Journal } from "../core/journal/journal.ts";
import type { RefusalError, RefusedRequest, RejectionDetails, Rejections } from "../core/ports/rejections.ts";
import { cutText } from "../core/shared/text/text.ts";
import { DAY_MS } from "../core/shared/time.ts";
import type { Telemetry } from "../core/telemetry/telemetry.ts";

/** A request that was refused before its sender was known. Nothing of its body is kept. */
export interface Rejection {
  /** The id of the request. */
  id: string;
  /** Milliseconds since the epoch. */
  at: number;
  /** undefined: the path cannot be the name of a hook. */
  hook?: string;
  method: string;
  /** missing · malformed · wrong · expired: its credential · no_such_hook · or the code of the answer. */
  reason: string;
  /** The sentence of the answer. */
  message: string;
  /** A note about all refused requests of this sender. */
  hint?: string;
  client: string;
  /** Names only. */
  headers: string[];
  /** The declared size in bytes. */
  size?: number;
  /** How many more requests this client was refused while it was throttled. */
  repeated?: number;
}

export interface RejectionLog extends Rejections {
  /** The last 500 of all nodes, also those before the start. Newest first. */
  list(limit: number): Promise<Rejection[]>;
  /** Saves what is not saved yet. */
  close(): Promise<void>;
}

export const MAX_REJECTIONS = 500;
const KIND = "rejection";
const KEPT_MS = 30 * DAY_MS;
const SAVE_AFTER_MS = 1000;
/** A flood has more in each interval: only the newest are saved. */
const MAX_SAVED_AT_ONCE = 100;
/** Pages ask again with every change, and other nodes save theirs. */
const READ_AFTER_MS = 2000;
const MAX_HEADERS = 64;
const MAX_NAME_LENGTH = 100;
const LOG_INTERVAL_MS = 60_000;

/**
 * Keeps the newest refused requests, and logs a line a minute for each reason. The journal gets them later and in batches: a
 * refused request causes no commit of its own.
 */
export function createRejectionLog(
  { log }: Pick<Telemetry, "log">,
  journal: Pick<Journal, "listNotes" | "writeNotes">,
  changed: (rejection: Rejection) => void = () => undefined,
): RejectionLog {
  const kept: Rejection[] = [];
  const unsaved = new Map<string, Rejection>();
  let saving: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stored: Rejection[] = [];
  let readAt = -Infinity;
  /** How many there were since the last line, by reason. */
  const counts = new Map<string, number>();

  return {
    add(request, hook, error, details = {}) {
      const rejection = toRejection(request, hook, error, details);
      report(rejection);
      changed((details.isThrottled && countRepeated(request.client)) || keep(rejection));
      return error;
    },
    async list(limit) {
      if (performance.now() - readAt > READ_AFTER_MS) await read();
      return merge(stored, kept).slice(0, limit);
    },
    async close() {
      clearTimeout(timer);
      await saving;
      await save();
    },
  };

  function keep(rejection: Rejection): Rejection {
    kept.push(rejection);
    if (kept.length > MAX_REJECTIONS) kept.shift();
    saveLater(rejection);
    return rejection;
  }

  function saveLater(rejection: Rejection): void {
    unsaved.delete(rejection.id);
    unsaved.set(rejection.id, rejection);
    if (unsaved.size > MAX_SAVED_AT_ONCE) unsaved.delete(unsaved.keys().next().value ?? "");
    timer ??= setTimeout(() => {
      saving = save().finally(() => {
        timer = undefined;
        const last = [...unsaved.values()].at(-1);
        if (last) saveLater(last);
      });
    }, SAVE_AFTER_MS).unref();
  }

  /** Stores the newest, and deletes the oldest: the journal never has many more than are listed. */
  async function save(): Promise<void> {
    const batch = [...unsaved.values()];
    if (batch.length === 0) return;
    unsaved.clear();
    try {
      await read();
      const newest = new Set(merge(stored, batch).map(({ id }) => id));
      const added = batch.map((one) => ({
        kind: KIND,
        key: one.id,
        json: JSON.stringify(one),
        expiresAt: one.at + KEPT_MS,
      }));
      const removed = stored.filter(({ id }) => !newest.has(id)).map(({ id }) => ({ kind: KIND, key: id }));
      await journal.writeNotes([...added, ...removed]);
    } catch (error) {
      log.warn("refused requests were not saved", { count: batch.length, error: messageOf(error) });
    }
  }

  async function read(): Promise<void> {
    readAt = performance.now();
    stored = (await journal.listNotes(KIND)).map(({ json }) => JSON.parse(json));
  }

  /** A client that is refused again and again must not push out all others. */
  function countRepeated(client: string): Rejection | undefined {
    const last = kept.findLast((rejection) => rejection.client === client);
    if (!last) return undefined;
    last.repeated = (last.repeated ?? 0) + 1;
    saveLater(last);
    return last;
  }

  function report(rejection: Rejection): void {
    const { reason } = rejection;
    const count = counts.get(reason);
    if (count === undefined) write(rejection, 1);
    else counts.set(reason, count + 1);
  }

  function write({ reason, hook, client, hint }: Rejection, count: number): void {
    log.warn("requests refused", { step: "request", reason, count, hook, client, hint });
    counts.set(reason, 0);
    setTimeout(() => {
      const more = counts.get(reason) ?? 0;
      const last = kept.findLast((rejection) => rejection.reason === reason);
      if (more > 0 && last) write(last, more);
      else counts.delete(reason);
    }, LOG_INTERVAL_MS).unref();
  }
}

/** The newest of both, newest first. The later list knows more of those that are in both. */
function merge(stored: Rejection[], own: Rejection[]): Rejection[] {
  const all = new Map([...stored, ...own].map((rejection) => [rejection.id, rejection]));
  const newestFirst = [...all.values()].toReversed().toSorted((one, other) => other.at - one.at);
  return newestFirst.slice(0, MAX_REJECTIONS);
}

function toRejection(
  { id, method, client, headers }: RefusedRequest,
  hook: string | undefined,
  { code, message }: RefusalError,
  { reason = code === "not_found" ? "no_such_hook" : code, hint }: RejectionDetails,
): Rejection {
  const size = headers["content-length"];
  return {
    id,
    at: Date.now(),
    method,
    hook: hook && cutText(hook, MAX_NAME_LENGTH),
    reason,
    message,
    hint,
    client,
    headers: Object.keys(headers)
      .slice(0, MAX_HEADERS)
      .map((name) => cutText(name, MAX_NAME_LENGTH)),
    size: size === undefined ? undefined : Number(size),
  };
}
