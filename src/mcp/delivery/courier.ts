import { hash } from "node:crypto";
import type { NumberedPublication, Subscription, SubscriptionProgress } from "../../core/journal/journal.ts";
import type { AbandonedEvent, OpenEvent } from "../../core/journal/publications.ts";
import { backoffMs, DAY_MS } from "../../core/shared/time.ts";
import type { PostResult } from "./callback.ts";
import { type Mark, toCursor, toOccurrenceJson } from "../occurrence.ts";
import type { Feed } from "./feed.ts";

/** Brings one subscription forward. `toProgress`: what is saved. */
export interface Courier {
  subscription: Subscription;
  progress: Omit<SubscriptionProgress, "scanned" | "open">;
  /** The secrets that sign, each until a time; undefined: they cannot be read. */
  secrets: readonly { text: string; until: number }[] | undefined;
  /** Why the configuration ends it. It rests until that is sure. */
  refusal?: Omit<NonNullable<SubscriptionProgress["ended"]>, "at"> | undefined;
  /** Every position up to this one was looked at. */
  scanned: number;
  /** The last publication that was looked at. */
  last: Mark | undefined;
  /** By position: what is being sent, or waits for another attempt. */
  outstanding: Map<number, Item>;
  /** Events that were outstanding in an earlier life, or before a suspension. They are read again first. */
  unread: OpenEvent[];
  /** Events that were given up and are not saved yet. */
  abandoned: AbandonedEvent[];
  sending: number;
  control?: { key: string; attempts: number; nextAt: number; isSending: boolean };
  /** `scanned` alone is saved less often. */
  isChanged: boolean;
  savedAt: number;
}

interface Item {
  publication: NumberedPublication;
  /** The publication before it. */
  before: Mark | undefined;
  attempts: number;
  /** Since when each attempt has failed. */
  failingSince: number | undefined;
  nextAt: number;
  isSending: boolean;
}

export interface CourierParts {
  storeId: string;
  feed: Feed;
  /** Reads publications by position, after one and up to another. */
  read(range: { after: number; upTo: number; limit: number }): Promise<NumberedPublication[]>;
  /** The last publication that was deleted. */
  swept: Mark;
  now: number;
  /** Whether the subscription's filter and its principal take it. */
  takes(courier: Courier, publication: NumberedPublication): boolean;
  /** Whether another message may be sent to this subscriber now. */
  hasRoom(courier: Courier): boolean;
  post(courier: Courier, id: string, body: string): Promise<PostResult>;
  /** Called after each result: there may be more to send. */
  settled(): void;
}

const MAX_SENDING = 8;
/** How many events wait for another attempt before no new one is sent. */
const MAX_OUTSTANDING = 64;
const MAX_CONTROL_ATTEMPTS = 5;
const SUSPEND_AFTER_MS = 15 * 60_000;
/** An event that has failed for so long while others succeeded is given up. */
const GIVE_UP_MS = DAY_MS;
const BACKOFF = { firstMs: 1000, maxMs: 5 * 60_000 };
/** The connection may be closed, and no attempt can help. */
const FINAL: ReadonlySet<number | undefined> = new Set([410, 413]);

export function createCourier(subscription: Subscription, secrets: Courier["secrets"]): Courier {
  const { scanned, open, ...progress } = structuredClone(subscription.progress);
  return {
    subscription,
    progress,
    secrets,
    scanned,
    last: undefined,
    outstanding: new Map(),
    unread: open,
    abandoned: [],
    sending: 0,
    isChanged: false,
    savedAt: Date.now(),
  };
}

/** Suspended until the subscriber asks again. */
export function isSuspended({ progress: { suspendedAt }, subscription }: Courier): boolean {
  return suspendedAt !== undefined && suspendedAt >= subscription.refreshedAt;
}

/** Sends what can be sent now. A promise: it has to read first. */
export function proceed(courier: Courier, parts: CourierParts): Promise<void> | undefined {
  const { progress, subscription } = courier;
  if (subscription.expiresAt !== undefined && subscription.expiresAt <= parts.now) return undefined;
  if (progress.ended) {
    const { at, ...error } = progress.ended;
    const body = JSON.stringify({ type: "terminated", error });
    return sendControl(courier, parts, { key: String(at), body, done: () => undefined });
  }
  if (courier.refusal || isSuspended(courier)) return undefined;
  if (progress.suspendedAt !== undefined) {
    Object.assign(progress, { suspendedAt: undefined, failingSince: undefined });
    // Nothing was tried meanwhile.
    courier.unread = courier.unread.map(({ position }) => ({ position }));
    courier.isChanged = true;
  }
  if (progress.acked < parts.swept.position) return skipDeleted(courier, parts);
  if (courier.unread.length > 0) return readAgain(courier, parts);
  if (progress.hasGap) tellGap(courier, parts);
  for (const item of courier.outstanding.values()) {
    if (!item.isSending && item.nextAt <= parts.now) start(courier, item, parts);
  }
  return fill(courier, parts);
}

/** When something of it is due; Infinity: only a new event or a result brings it forward. */
export function nextDueAt(courier: Courier): number {
  const { outstanding, control, progress, refusal } = courier;
  if (!progress.ended && (refusal || isSuspended(courier))) return Infinity;
  let dueAt = control && !control.isSending ? control.nextAt : Infinity;
  if (progress.ended) return dueAt;
  for (const { isSending, nextAt } of outstanding.values()) if (!isSending) dueAt = Math.min(dueAt, nextAt);
  return dueAt;
}

function fill(courier: Courier, parts: CourierParts): Promise<void> | undefined {
  while (hasRoom(courier, parts)) {
    const rows = parts.feed.after(courier.scanned);
    if (!Array.isArray(rows)) return fillFrom(rows, courier, parts);
    if (rows.length === 0) break;
    take(rows, courier, parts);
  }
  advance(courier, parts);
  return undefined;
}

async function fillFrom(reading: Promise<NumberedPublication[]>, courier: Courier, parts: CourierParts): Promise<void> {
  const rows = await reading;
  take(rows, courier, parts);
  if (rows.length > 0) await fill(courier, parts);
  else advance(courier, parts);
}

function take(rows: readonly NumberedPublication[], courier: Courier, parts: CourierParts): void {
  for (const publication of rows) {
    if (!hasRoom(courier, parts)) return;
    const before = courier.last;
    courier.last = publication;
    courier.scanned = publication.position;
    if (parts.takes(courier, publication)) start(courier, addItem(courier, publication, { before }), parts);
  }
}

function addItem(
  { outstanding }: Courier,
  publication: NumberedPublication,
  { before, failingSince }: Pick<Item, "before"> & Partial<Pick<Item, "failingSince">>,
): Item {
  const item = { publication, before, attempts: 0, failingSince, nextAt: 0, isSending: false };
  outstanding.set(publication.position, item);
  return item;
}

/** Reads what was outstanding, each with the publication before it, and the last one that was looked at. */
async function readAgain(courier: Courier, parts: CourierParts): Promise<void> {
  const { unread, scanned } = courier;
  const readAt = async (position: number): Promise<(NumberedPublication | undefined)[]> => {
    const rows = await parts.read({ after: position - 2, upTo: position, limit: 2 });
    return [position - 1, position].map((at) => rows.find((row) => row.position === at));
  };
  const [, last] = await readAt(scanned);
  const found = await Promise.all(unread.map(async (open) => ({ open, rows: await readAt(open.position) })));
  // Suspended meanwhile.
  if (courier.unread !== unread) return;
  courier.unread = [];
  courier.last ??= last;
  for (const { open, rows } of found) {
    const [before, publication] = rows;
    // A deleted one is behind `swept`, so the subscriber gets a gap. The filter may have changed.
    if (!publication || !parts.takes(courier, publication)) continue;
    start(courier, addItem(courier, publication, { before, failingSince: open.failingSince }), parts);
  }
  await fill(courier, parts);
}

/** Whether another publication can be sent, beside those that wait for another attempt. */
function hasRoom(courier: Courier, parts: CourierParts): boolean {
  const { sending, outstanding } = courier;
  return sending < MAX_SENDING && outstanding.size < MAX_OUTSTANDING && parts.hasRoom(courier);
}

function start(courier: Courier, item: Item, parts: CourierParts): void {
  if (courier.sending >= MAX_SENDING || !parts.hasRoom(courier)) return;
  item.isSending = true;
  courier.sending += 1;
  void send(courier, item, parts);
}

async function send(courier: Courier, item: Item, parts: CourierParts): Promise<void> {
  const { publication } = item;
  // Everything up to it is acknowledged or abandoned: whenever it is stored, nothing is skipped.
  const { cursor } = courier.progress;
  const result = await parts.post(courier, publication.id, toOccurrenceJson(publication, cursor));
  item.isSending = false;
  courier.sending -= 1;
  // Unless it was suspended or ended meanwhile.
  if (courier.outstanding.get(publication.position) === item) settle(courier, item, result, parts);
  parts.settled();
}

function settle(courier: Courier, item: Item, result: PostResult, parts: CourierParts): void {
  const { progress } = courier;
  const now = Date.now();
  courier.isChanged = true;
  if (result.kind === "ok") {
    Object.assign(progress, { failingSince: undefined, lastError: undefined, lastDeliveryAt: now });
    return finish(courier, item, parts);
  }
  if (FINAL.has(result.status)) return abandon(courier, item, `${result.reason} (${result.status})`, parts);
  item.failingSince ??= now;
  if (now - item.failingSince >= GIVE_UP_MS) {
    progress.hasGap = true;
    return abandon(courier, item, result.reason, parts);
  }
  item.attempts += 1;
  item.nextAt = now + backoffMs(item.attempts, BACKOFF);
  noteFailure(courier, result.reason);
}

/** Nothing has succeeded for a while: the subscriber has to ask again. */
function noteFailure(courier: Courier, reason: string): void {
  const { progress } = courier;
  const now = Date.now();
  progress.failingSince ??= now;
  progress.lastError = reason;
  courier.isChanged = true;
  if (now - progress.failingSince < SUSPEND_AFTER_MS) return;
  progress.suspendedAt = now;
  courier.unread = listOpen(courier);
  courier.outstanding.clear();
}

/** Events without a result, for the next life. */
function listOpen({ unread, outstanding }: Courier): OpenEvent[] {
  const items = outstanding.values().map(({ publication: { position }, failingSince }) => ({ position, failingSince }));
  return [...unread, ...items].toSorted((one, other) => one.position - other.position);
}

function abandon(courier: Courier, item: Item, reason: string, parts: CourierParts): void {
  const { id, position } = item.publication;
  courier.abandoned.push({ id, position, reason, at: Date.now() });
  courier.progress.abandonedCount += 1;
  finish(courier, item, parts);
}

function finish(courier: Courier, { publication: { position } }: Item, parts: CourierParts): void {
  courier.outstanding.delete(position);
  advance(courier, parts);
}

/** Everything before the first outstanding position is acknowledged, abandoned, or was not for it. */
function advance(courier: Courier, { storeId }: Pick<CourierParts, "storeId">): void {
  const { progress, outstanding, scanned, last, unread } = courier;
  if (unread.length > 0) return;
  const first = outstanding.size === 0 ? undefined : outstanding.get(Math.min(...outstanding.keys()));
  const upTo = first ? first.publication.position - 1 : scanned;
  if (upTo <= progress.acked) return;
  progress.acked = upTo;
  const mark = first ? first.before : last;
  if (mark && mark.position <= upTo) progress.cursor = toCursor(storeId, mark);
}

/** The progress to save. */
export function toProgress(courier: Courier): SubscriptionProgress {
  const { progress, scanned } = courier;
  return { ...structuredClone(progress), scanned: Math.max(scanned, progress.acked), open: listOpen(courier) };
}

interface Control {
  key: string;
  body: string;
  done(): void;
}

/** Events that nobody has acknowledged were deleted. */
function skipDeleted(courier: Courier, parts: CourierParts): undefined {
  const { swept, storeId } = parts;
  // Their results do not count any more.
  for (const position of courier.outstanding.keys()) {
    if (position <= swept.position) courier.outstanding.delete(position);
  }
  courier.unread = courier.unread.filter(({ position }) => position > swept.position);
  const cursor = toCursor(storeId, swept);
  sendControl(courier, parts, {
    key: cursor,
    body: toGap(cursor),
    done() {
      const { progress } = courier;
      if (progress.acked < swept.position) Object.assign(progress, { acked: swept.position, cursor });
      courier.scanned = Math.max(courier.scanned, swept.position);
      advance(courier, parts);
    },
  });
}

/** An event was given up. Others are sent meanwhile. */
function tellGap(courier: Courier, parts: CourierParts): undefined {
  const { progress } = courier;
  const count = progress.abandonedCount;
  sendControl(courier, parts, {
    key: `given up ${count}`,
    body: toGap(progress.cursor),
    done() {
      if (progress.abandonedCount === count) progress.hasGap = undefined;
    },
  });
}

function toGap(cursor: string): string {
  return JSON.stringify({ type: "gap", cursor, truncated: true });
}

function sendControl(courier: Courier, parts: CourierParts, message: Control): undefined {
  const { key } = message;
  if (courier.control?.key !== key) courier.control = { key, attempts: 0, nextAt: 0, isSending: false };
  const { control } = courier;
  if (control.isSending || control.nextAt > parts.now) return;
  control.isSending = true;
  void deliverControl(courier, control, { ...parts, ...message });
}

/** Some subscribers take no control messages: their 4xx is final, and changes nothing. */
async function deliverControl(
  courier: Courier,
  control: NonNullable<Courier["control"]>,
  { key, body, done, post, settled }: Control & Pick<CourierParts, "post" | "settled">,
): Promise<void> {
  const { subscription, progress } = courier;
  const type = progress.ended ? "terminated" : "gap";
  // The same in each attempt, also after a restart.
  const digest = hash("sha256", `${subscription.id} ${subscription.generation} ${key}`);
  const result = await post(courier, `msg_${type}_${digest.slice(0, 32)}`, body);
  control.isSending = false;
  control.attempts += 1;
  control.nextAt = Date.now() + backoffMs(control.attempts, BACKOFF);
  const isGivenUp = progress.ended !== undefined && control.attempts >= MAX_CONTROL_ATTEMPTS;
  if (result.kind === "ok" || result.reason === "http_4xx" || isGivenUp) {
    control.nextAt = Infinity;
    courier.isChanged = true;
    done();
  } else noteFailure(courier, result.reason);
  settled();
}

/** Whether the subscriber was told that it has ended, or cannot be. */
export function isOver({ progress, control, secrets }: Courier): boolean {
  return progress.ended !== undefined && (secrets === undefined || control?.nextAt === Infinity);
}
