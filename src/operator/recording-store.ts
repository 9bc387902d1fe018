import { DAY_MS } from "../core/shared/time.ts";
import { HookError } from "../core/errors.ts";
import type { Journal, StoredRequest } from "../core/journal/journal.ts";
import { createId } from "../core/shared/id.ts";

/** Requests to a hook that no mapping takes, kept so that a mapping can be built from them. */
export interface Recording {
  id: string;
  /** The hook's name, exactly. */
  hook: string;
  startedAt: number;
  /** Later requests are not kept. */
  endsAt: number;
  /** Then it is forgotten, with all its requests. */
  expiresAt: number;
}

export interface RecordedRequest {
  id: string;
  at: number;
  /** The status that its sender got: 401, 404, 405 or 429. */
  answer: number;
  /** In bytes. A body over 256 KB is not kept. */
  size?: number;
  request: StoredRequest;
}

export interface Recordings {
  /** Records a hook from now on. Throws a 409 while too many others are kept. */
  start(hook: string): Promise<Recording>;
  /** The newest first, with the number of their requests. */
  list(): Promise<(Recording & { requests: number })[]>;
  /** The requests, oldest first; undefined if there is no such recording. */
  find(id: string): Promise<{ recording: Recording; requests: RecordedRequest[] } | undefined>;
  /** Ends it, and forgets its requests. False if there is none. */
  remove(id: string): Promise<boolean>;
  /** Whether requests to the hook are kept at the moment. */
  wants(hook: string): Promise<boolean>;
  /** Keeps a refused request, unless enough are kept. */
  add(hook: string, request: RecordedRequest): Promise<void>;
}

const MAX_RECORDINGS = 10;
const MAX_REQUESTS = 20;
const LENGTH_MS = 10 * 60_000;
const KEPT_MS = DAY_MS;
/** Another node may have started or removed one. Refused requests can be many, so the journal is asked only so often. */
const REFRESH_MS = 2000;

const KIND = "recording";
const requestsOf = (id: string): string => `recorded:${id}`;

type RecordingJournal = Pick<Journal, "listNotes" | "writeNotes">;

/** Keeps recordings in the journal, apart from its events: nothing of them is dispatched or replayed. */
export function createRecordings(journal: RecordingJournal): Recordings {
  let known: Recording[] = [];
  let readAt = -Infinity;
  /** Recordings that have all their requests. */
  const full = new Set<string>();
  let adding: Promise<void> = Promise.resolve();

  return {
    async start(hook) {
      const kept = await refresh();
      if (kept.length >= MAX_RECORDINGS) {
        const message = `${MAX_RECORDINGS} recordings are kept, and no more at a time. Delete one first.`;
        throw new HookError("too_many_recordings", { message });
      }
      const startedAt = Date.now();
      const recording = {
        id: createId(),
        hook,
        startedAt,
        endsAt: startedAt + LENGTH_MS,
        expiresAt: startedAt + KEPT_MS,
      };
      await journal.writeNotes([toNote(KIND, recording.id, recording, recording)]);
      await refresh();
      return recording;
    },
    async list() {
      const all = await refresh();
      const counts = await Promise.all(all.map(async ({ id }) => (await listRequests(id)).length));
      return all.map((recording, index) => ({ ...recording, requests: counts[index] ?? 0 })).toReversed();
    },
    async find(id) {
      const recording = (await refresh()).find((one) => one.id === id);
      return recording && { recording, requests: await listRequests(id) };
    },
    async remove(id) {
      const recording = (await refresh()).find((one) => one.id === id);
      if (!recording) return false;
      const kept = await journal.listNotes(requestsOf(id));
      const notes = kept.map(({ key }) => ({ kind: requestsOf(id), key }));
      await journal.writeNotes([...notes, { kind: KIND, key: id }]);
      await refresh();
      return true;
    },
    wants: async (hook) => (await findOpen(hook)) !== undefined,
    async add(hook, request) {
      const added = adding.then(() => add(hook, request));
      adding = added.catch(() => undefined);
      return added;
    },
  };

  async function refresh(): Promise<Recording[]> {
    readAt = performance.now();
    known = (await journal.listNotes(KIND)).map(({ json }): Recording => JSON.parse(json));
    return known;
  }

  async function findOpen(hook: string): Promise<Recording | undefined> {
    if (performance.now() - readAt > REFRESH_MS) await refresh();
    return known.findLast((one) => one.hook === hook && Date.now() < one.endsAt && !full.has(one.id));
  }

  async function listRequests(id: string): Promise<RecordedRequest[]> {
    const notes = await journal.listNotes(requestsOf(id));
    return notes.slice(0, MAX_REQUESTS).map(({ json }) => parseRequest(json));
  }

  async function add(hook: string, request: RecordedRequest): Promise<void> {
    const recording = await findOpen(hook);
    if (!recording) return;
    const kept = (await journal.listNotes(requestsOf(recording.id))).length;
    if (kept + 1 >= MAX_REQUESTS) full.add(recording.id);
    // Ids sort by time.
    if (kept < MAX_REQUESTS) {
      const { body, ...rest } = request.request;
      const value = { ...request, request: { ...rest, body: body.toString("base64") } };
      await journal.writeNotes([toNote(requestsOf(recording.id), request.id, value, recording)]);
    }
  }
}

function toNote(kind: string, key: string, value: object, { expiresAt }: Recording) {
  return { kind, key, json: JSON.stringify(value), expiresAt };
}

function parseRequest(json: string): RecordedRequest {
  const parsed = JSON.parse(json);
  return { ...parsed, request: { ...parsed.request, body: Buffer.from(parsed.request.body, "base64") } };
}
