import { Readable } from "node:stream";
import { HookError, messageOf } from "../../core/errors.ts";
import type { Change, Journal } from "../../core/journal/journal.ts";
import { isRequest, toMessageWord, toQuestionWord, toTurnWord } from "../../core/shared/words.ts";
import type { Log } from "../../core/telemetry/log.ts";
import type { StreamMessage } from "../../core/types.ts";
import { toEventView } from "../views.ts";

/** Only messages that have these values are sent. */
interface StreamFilter {
  hook?: string;
  status?: string;
  session?: string;
  /** Set: also the answers to requests, whatever became of their events. */
  answers?: string;
  /** Only events that this node received. */
  own?: boolean;
}

interface StreamRequest {
  /** The `id` of the last message that the client has seen. */
  after?: string;
  filter: StreamFilter;
  /** Checked now and then: a stream must not outlive the sign-in that opened it. Absent: the reader is this process. */
  isAllowed?(): boolean;
}

export interface LiveStream {
  /** A stream of server-sent events. Throws a 503 when there are too many. */
  open(request: StreamRequest): Readable;
  /** Called before the event of a request to this node is committed. */
  received(id: string): void;
  /** Sends something that is not in the journal, once anybody has listened. A later one with the same key replaces it. */
  publish(
    name: Extract<StreamMessage, "rejection" | "answer" | "reload" | "mailbox">,
    key: string,
    read: () => object,
  ): void;
  /** Ends the streams of clients. */
  disconnect(): void;
  /** Sends the rest to the readers in this process, and ends their streams. */
  close(): Promise<void>;
}

const MAX_CLIENTS = 64;
const BATCH_MS = 50;
const COMMENT_MS = 15_000;
/** How much a client may be behind before it has to read anew. */
const MAX_LAG_BYTES = 1024 * 1024;
/** How many messages are made at once: this blocks the event loop. */
const MAX_BATCH = 1000;

interface LiveStreamOptions {
  journal: Pick<Journal, "watchChanges" | "listEvents">;
  log: Log;
}

/** Reports what is committed, as it happens, to any number of clients. Costs nothing until the first client comes. */
export function createLiveStream({ journal, log }: LiveStreamOptions): LiveStream {
  const ring = createChangeRing<Item>();
  const own = new Set<string>();
  const clients = new Set<Client>();
  let unwatch: (() => void) | undefined;
  let comments: NodeJS.Timeout | undefined;
  let due: NodeJS.Timeout | undefined;
  let pumping: Promise<void> | undefined;
  let closed = false;

  return {
    open({ after, filter, isAllowed }) {
      if (closed) throw new HookError("draining");
      if (clients.size >= MAX_CLIENTS) {
        throw new HookError("overloaded", { message: `There are ${MAX_CLIENTS} streams already.` });
      }
      unwatch ??= journal.watchChanges(onChanges);
      if (isAllowed) comments ??= setInterval(keepAlive, COMMENT_MS).unref();
      const client = createClient({ after, filter, isAllowed });
      clients.add(client);
      return client.stream;
    },
    received(id) {
      if (!unwatch) return;
      own.add(id);
      const [oldest] = own;
      if (own.size > MAX_ITEMS && oldest !== undefined) own.delete(oldest);
    },
    publish(name, key, read) {
      if (unwatch) add(`${name}:${key}`, { name, data: read() });
    },
    disconnect() {
      closed = true;
      clearInterval(comments);
      for (const client of clients) if (client.isAllowed) end(client);
    },
    async close() {
      unwatch?.();
      await pumping;
      clearTimeout(due);
      await pump().catch(() => undefined);
      clients.forEach(end);
    },
  };

  function end(client: Client): void {
    clients.delete(client);
    client.stream.push(null);
  }

  function createClient({ after, filter, isAllowed }: StreamRequest): Client {
    const stream = new Readable({
      read() {
        if (!client.isLagging) return;
        client.isLagging = false;
        sendGap(client);
      },
    });
    const client: Client = { stream, filter, isAllowed, cursor: ring.last(), isLagging: false };
    stream.once("close", () => clients.delete(client));
    if (after === undefined) stream.push(toMessage("ready", client.cursor, {}));
    else if (ring.has(Number(after))) {
      client.cursor = Number(after);
      // The headers reach the client with the first bytes.
      stream.push(":\n\n");
      schedule();
    } else sendGap(client);
    return client;
  }

  /** The client has missed something, and continues from now. */
  function sendGap(client: Client): void {
    client.cursor = ring.last();
    client.stream.push(toMessage("gap", client.cursor, {}));
  }

  function onChanges(changes: readonly Change[]): void {
    for (const change of changes) {
      const { kind: name, ...data } = toChangeView(change);
      add(`${name}:${change.kind === "session" ? change.key : change.id}`, { name, data });
    }
  }

  function add(key: string, item: Item): void {
    ring.add(key, item);
    if (clients.size > 0) schedule();
  }

  function schedule(): void {
    due ??= setTimeout(() => {
      pumping = pump()
        .catch((error: unknown) => log.error("stream failed", { error: messageOf(error) }))
        .finally(() => {
          due = undefined;
          if (listBehind().length > 0) schedule();
        });
    }, BATCH_MS).unref();
  }

  function listBehind(): Client[] {
    return [...clients].filter(({ isLagging, cursor }) => !isLagging && cursor < ring.last());
  }

  /** Makes the messages once for all clients that are at the same place. */
  async function pump(): Promise<void> {
    for (const [cursor, group] of Map.groupBy(listBehind(), (client) => client.cursor)) {
      const items = ring.after(cursor, MAX_BATCH);
      if (!items) {
        group.forEach(sendGap);
        continue;
      }
      const messages = await render(items);
      const last = items.at(-1)?.seq ?? cursor;
      for (const [, same] of Map.groupBy(group, ({ filter }) => JSON.stringify(filter))) {
        const filter = same[0]?.filter ?? {};
        const wanted = messages.filter((message) => matches(message, filter, own));
        const bytes = Buffer.from(wanted.map(({ text }) => text).join(""));
        for (const client of same) send(client, bytes, last);
      }
    }
  }

  function send(client: Client, bytes: Buffer, cursor: number): void {
    if (client.stream.destroyed) return;
    client.cursor = cursor;
    if (bytes.length > 0) client.stream.push(bytes);
    if (client.stream.readableLength > MAX_LAG_BYTES) client.isLagging = true;
  }

  async function render(items: (Item & { seq: number })[]): Promise<Message[]> {
    const ids = items.flatMap(({ name, data }) => (name === "event" && "id" in data ? String(data.id) : []));
    const events = ids.length > 0 ? await journal.listEvents({ ids, limit: ids.length }) : [];
    const views = new Map(events.map((event) => [event.id, toEventView(event)]));
    return items.flatMap(({ seq, name, data }) => {
      // An event may have been deleted since.
      const view = name === "event" && "id" in data ? views.get(String(data.id)) : data;
      return view ? { name, data: view, text: toMessage(name, seq, view) } : [];
    });
  }

  function keepAlive(): void {
    for (const { stream, isAllowed } of clients) if (isAllowed) stream.push(isAllowed() ? ":\n\n" : null);
  }
}

/** With the word of its state. */
function toChangeView(change: Change): Pick<Change, "kind"> & { state?: string } {
  if (change.kind === "run") return { ...change, state: toTurnWord(change.state) };
  if (change.kind === "delivery") return { ...change, state: toMessageWord(change.state) };
  return change.kind === "approval" ? { ...change, state: toQuestionWord(change.state) } : change;
}

interface Item {
  name: StreamMessage;
  data: object;
}

interface Message extends Item {
  text: string;
}

interface Client {
  stream: Readable;
  filter: StreamFilter;
  isAllowed?(): boolean;
  /** The last message that was sent. */
  cursor: number;
  /** The client has not read everything, so nothing more is sent. */
  isLagging: boolean;
}

function toMessage(name: StreamMessage, seq: number, data: object): string {
  return `id: ${seq}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

interface EventFields {
  id?: string;
  hook?: string;
  status?: string;
  actions?: { sessionKey?: string }[];
}

/** A message must have the value that a filter names: a message without a hook does not match a hook. */
function matches({ name, data }: Message, filter: StreamFilter, own: ReadonlySet<string>): boolean {
  const { hook, status, session, answers } = filter;
  if (name === "answer" && answers === undefined) return false;
  const { actions = [], ...fields }: EventFields = data;
  if (filter.own && name === "event" && !own.has(fields.id ?? "")) return false;
  if (hook !== undefined && fields.hook !== hook) return false;
  if (status !== undefined && name !== "answer" && !isRequest(fields.status, status)) return false;
  return session === undefined || actions.some(({ sessionKey }) => sessionKey === session);
}

/** How many different things are remembered for clients that come back. */
const MAX_ITEMS = 20_000;

/**
 * The latest changes in order, each thing once: a change of something that is in here already replaces the earlier one, and
 * gets a later number.
 */
interface ChangeRing<Entry> {
  add(key: string, entry: Entry): void;
  /** The number of the latest change. */
  last(): number;
  /** Whether everything after this number is still here. */
  has(seq: number): boolean;
  /** The first `limit` changes after this number, oldest first; undefined if some are not here any more. */
  after(seq: number, limit: number): (Entry & { seq: number })[] | undefined;
}

/** Numbers begin at the clock's microseconds, so that those of an earlier process are never taken for ours. */
export function createChangeRing<Entry extends object>(max = MAX_ITEMS, now = Date.now()): ChangeRing<Entry> {
  /** In the order of their numbers. */
  const latest = new Map<string, Entry & { seq: number }>();
  let last = now * 1000;
  /** Everything after this one is in `latest`. */
  let forgotten = last;

  return {
    add(key, entry) {
      latest.delete(key);
      latest.set(key, { ...entry, seq: ++last });
      // Many at once: a map finds its first entry slowly after deletions.
      if (latest.size > max * 1.1) forgetOldest();
    },
    last: () => last,
    has,
    after(seq, limit) {
      if (!has(seq)) return undefined;
      const found: (Entry & { seq: number })[] = [];
      for (const entry of latest.values()) {
        if (entry.seq > seq && found.push(entry) === limit) break;
      }
      return found;
    },
  };

  function has(seq: number): boolean {
    return seq >= forgotten && seq <= last;
  }

  function forgetOldest(): void {
    for (const [key, { seq }] of latest) {
      if (latest.size <= max) break;
      latest.delete(key);
      forgotten = seq;
    }
  }
}
