import { hash } from "node:crypto";
import type { NumberedPublication, Subscription, SubscriptionProgress } from "../../core/journal/journal.ts";
import { backoffMs } from "../../core/shared/time.ts";
import type { PostResult } from "./callback.ts";
import { toCursor, toOccurrenceJson } from "../occurrence.ts";
import type { Feed } from "./feed.ts";

/** Brings one subscription forward. Its progress is what is saved. */
export interface Courier {
  subscription: Subscription;
  progress: SubscriptionProgress;
  /** The secrets that sign, each until a time; undefined: they cannot be read. */
  secrets: readonly { text: string; until: number }[] | undefined;
  /** Why the configuration ends it. It rests until that is sure. */
  refusal?: Omit<NonNullable<SubscriptionProgress["ended"]>, "at"> | undefined;
  /** Every position up to this one was looked at. */
  scanned: number;
  /** By position: what is being sent, or waits for another attempt. */
  outstanding: Map<number, Item>;
  sending: number;
  /** How many events were acknowledged. */
  successes: number;
  control?: { key: string; attempts: number; nextAt: number; isSending: boolean };
  /** `scanned` alone is saved less often. */
  isChanged: boolean;
  savedAt: number;
}

interface Item {
  publication: NumberedPublication;
  attempts: number;
  successesBefore: number;
  nextAt: number;
  isSending: boolean;
}

export interface CourierParts {
  storeId: string;
  feed: Feed;
  /** Up to which position publications may be deleted. */
  swept: number;
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
const MAX_LATER = 64;
const MAX_ATTEMPTS = 5;
const MAX_ABANDONED = 100;
const SUSPEND_AFTER_MS = 15 * 60_000;
const BACKOFF = { firstMs: 1000, maxMs: 60_000 };
/** The connection may be closed, and no attempt can help. */
const FINAL: ReadonlySet<number | undefined> = new Set([410, 413]);

export function createCourier(subscription: Subscription, secrets: Courier["secrets"]): Courier {
  return {
    subscription,
    progress: structuredClone(subscription.progress),
    secrets,
    scanned: subscription.progress.acked,
    outstanding: new Map(),
    sending: 0,
    successes: 0,
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
    courier.isChanged = true;
  }
  if (progress.acked < parts.swept) return skipDeleted(courier, parts);
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
  advance(courier);
  return undefined;
}

async function fillFrom(reading: Promise<NumberedPublication[]>, courier: Courier, parts: CourierParts): Promise<void> {
  const rows = await reading;
  take(rows, courier, parts);
  if (rows.length > 0) await fill(courier, parts);
  else advance(courier);
}

function take(rows: readonly NumberedPublication[], courier: Courier, parts: CourierParts): void {
  const { progress, outstanding } = courier;
  for (const publication of rows) {
    const { position } = publication;
    if (!hasRoom(courier, parts)) return;
    courier.scanned = position;
    if (!parts.takes(courier, publication) || progress.later.includes(position)) continue;
    const item = { publication, attempts: 0, successesBefore: courier.successes, nextAt: 0, isSending: false };
    outstanding.set(position, item);
    start(courier, item, parts);
  }
}

/** Whether another publication can be sent, beside those that wait for another attempt. */
function hasRoom(courier: Courier, parts: CourierParts): boolean {
  const { sending, outstanding, progress } = courier;
  return sending < MAX_SENDING && outstanding.size + progress.later.length < MAX_LATER && parts.hasRoom(courier);
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
  const cursor = toCursor(parts.storeId, courier.progress.acked);
  const result = await parts.post(courier, publication.id, toOccurrenceJson(publication, cursor));
  item.isSending = false;
  courier.sending -= 1;
  // Unless it was suspended or ended meanwhile.
  if (courier.outstanding.get(publication.position) === item) settle(courier, item, result);
  parts.settled();
}

function settle(courier: Courier, item: Item, result: PostResult): void {
  const { progress } = courier;
  const now = Date.now();
  courier.isChanged = true;
  if (result.kind === "ok") {
    courier.successes += 1;
    Object.assign(progress, { failingSince: undefined, lastError: undefined, lastDeliveryAt: now });
    return finish(courier, item);
  }
  item.attempts += 1;
  if (FINAL.has(result.status)) return abandon(courier, item, `${result.reason} (${result.status})`);
  if (item.attempts >= MAX_ATTEMPTS && courier.successes > item.successesBefore) {
    return abandon(courier, item, result.reason);
  }
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
  restart(courier);
}

/** Begins again behind what is acknowledged. */
function restart(courier: Courier): void {
  courier.outstanding.clear();
  courier.scanned = courier.progress.acked;
}

function abandon(courier: Courier, item: Item, reason: string): void {
  const { progress } = courier;
  const { id, position } = item.publication;
  progress.abandoned = [...progress.abandoned, { id, position, reason, at: Date.now() }].slice(-MAX_ABANDONED);
  progress.abandonedCount += 1;
  finish(courier, item);
}

function finish(courier: Courier, { publication: { position } }: Item): void {
  courier.outstanding.delete(position);
  courier.progress.later.push(position);
  advance(courier);
}

/** Everything before the first outstanding position is acknowledged, abandoned, or was not for it. */
function advance({ progress, outstanding, scanned }: Courier): void {
  const upTo = outstanding.size === 0 ? scanned : Math.min(...outstanding.keys()) - 1;
  progress.acked = Math.max(progress.acked, upTo);
  if (progress.later.length > 0) progress.later = progress.later.filter((position) => position > progress.acked);
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
  courier.outstanding.clear();
  const cursor = toCursor(storeId, swept);
  sendControl(courier, parts, {
    key: cursor,
    body: JSON.stringify({ type: "gap", cursor, truncated: true }),
    done() {
      const { progress } = courier;
      progress.acked = Math.max(progress.acked, swept);
      progress.later = progress.later.filter((position) => position > progress.acked);
      restart(courier);
    },
  });
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
  const isGivenUp = progress.ended !== undefined && control.attempts >= MAX_ATTEMPTS;
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
