import { toCommand } from "../../core/shared/text/command.ts";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../core/errors.ts";
import type { Lease, NumberedPublication, Subscription, Unnumbered } from "../../core/journal/journal.ts";
import { parseObject } from "../../core/shared/json.ts";
import { createAlarm, DAY_MS, HOUR_MS } from "../../core/shared/time.ts";
import { isAllowedHost } from "./callback.ts";
import { findPublished } from "../catalog.ts";
import { type Courier, createCourier, isOver, isSuspended, nextDueAt, proceed, toProgress } from "./courier.ts";
import { CODES } from "../errors.ts";
import { createFeed, type Feed } from "./feed.ts";
import { widenSchema } from "./payload-schema.ts";
import type { McpParts } from "../parts.ts";
import { matchesFilter, mayAsk, maySee, maySeeType } from "../scope.ts";

/** Numbers publications and delivers them to subscriptions, on one node at a time. */
export interface Publisher {
  /** There may be something new. */
  wake(): void;
  /** Saves the progress of all subscriptions. */
  stop(): Promise<void>;
}

const LEASE = "publications";
const LEASE_CHECK_MS = 5000;
const RETRY_MS = 1000;
const MIN_WAIT_MS = 50;
const NUMBER_BATCH = 500;
const MAX_TYPES = 1000;
/** Messages that are sent at once: a principal with slow callbacks leaves room for the others. */
const MAX_SENDING = { principal: 64, all: 256 };
const SAVE_MS = 1000;
const SAVE_CHECK_MS = 250;
/** That nothing was for a subscriber is saved less often: it is only read again. */
const SAVE_QUIET_MS = 60_000;
const EXPIRY_CHECK_MS = 5000;
const SUSPENDED_MS = 7 * DAY_MS;
const TELL_ENDED_MS = HOUR_MS;
const STOP_MS = 5000;

interface Held {
  lease: Lease;
  checkedAt: number;
  /** The schema of each event type. */
  types: Map<string, object>;
  couriers: Map<string, Courier>;
  feed?: Feed;
  /** The version of the subscriptions, and the generation of the configuration that they were checked with. */
  version: number;
  generation: number;
  /** When to look for what has to be saved. */
  saveAt: number;
}

export function createPublisher(options: McpParts): Publisher {
  const { journal, current, sender, secrets, alerts, log, storeId, haveOtherConfigurations } = options;
  const { publications } = journal;
  const alarm = createAlarm(wake);
  let held: Held | undefined;
  let running: Promise<void> | undefined;
  let ending: Promise<void> | undefined;
  const state = { isWanted: false, isStopping: false, sending: 0 };
  /** By principal. */
  const sending = new Map<string, number>();

  return { wake, stop };

  function wake(): void {
    state.isWanted = true;
    running ??= run().finally(() => {
      running = undefined;
      // Wanted again after the last look.
      if (state.isWanted && !state.isStopping) wake();
    });
  }

  async function run(): Promise<void> {
    while (state.isWanted && !state.isStopping) {
      state.isWanted = false;
      try {
        await work();
      } catch (error) {
        log.warn("publications not delivered, will try again", { error: messageOf(error) });
        alarm.set(Date.now() + RETRY_MS);
      }
    }
  }

  async function work(): Promise<void> {
    const own = await hold();
    if (!own || !(await number(own))) {
      alarm.set(Date.now() + RETRY_MS);
      return;
    }
    const stored = await publications.state();
    if (stored.version !== own.version) await load(own, stored.version);
    if (own.couriers.size === 0) return;
    const { generation } = current();
    if (generation !== own.generation) for (const courier of own.couriers.values()) checkTerms(courier);
    own.generation = generation;
    if (own.couriers.values().some(({ refusal }) => refusal)) ending ??= endRefused(own);
    own.feed ??= createFeed(publications, Math.min(...Array.from(own.couriers.values(), ({ scanned }) => scanned)));
    await own.feed.advance(stored.position);
    const now = Date.now();
    const swept = { position: stored.swept, id: stored.sweptId };
    const { read } = publications;
    const parts = { storeId, feed: own.feed, read, swept, now, takes, hasRoom, post, settled: wake };
    for (const courier of own.couriers.values()) {
      const reading = proceed(courier, parts);
      if (reading) await reading;
    }
    if (now >= own.saveAt) {
      own.saveAt = now + SAVE_CHECK_MS;
      await save(own);
    }
    let dueAt = now + EXPIRY_CHECK_MS;
    for (const courier of own.couriers.values()) dueAt = Math.min(dueAt, nextWorkAt(courier));
    alarm.set(Math.max(dueAt, now + MIN_WAIT_MS));
  }

  /** Undefined while another node has it. */
  async function hold(): Promise<Held | undefined> {
    const now = Date.now();
    if (held && now - held.checkedAt < LEASE_CHECK_MS) return held;
    const lease = await journal.lease(LEASE);
    if (!lease) held = undefined;
    else if (held?.lease.token === lease.token) held.checkedAt = now;
    else {
      const types = new Map((await publications.listTypes()).map(({ name, payloadSchema }) => [name, payloadSchema]));
      held = { lease, checkedAt: now, types, couriers: new Map(), version: -1, generation: -1, saveAt: 0 };
    }
    return held;
  }

  async function number({ lease, types }: Held): Promise<boolean> {
    for (;;) {
      const rows = await publications.listUnnumbered(NUMBER_BATCH);
      if (rows.length === 0) return true;
      const widened = widenTypes(types, rows);
      const changed = Array.from(widened, ([name, payloadSchema]) => ({ name, payloadSchema }));
      if (!(await publications.number(lease, { seqs: rows.map(({ seq }) => seq), types: changed }))) {
        held = undefined;
        return false;
      }
      for (const [name, schema] of widened) types.set(name, schema);
      if (rows.length < NUMBER_BATCH) return true;
    }
  }

  /** Keeps the progress of those that are known. */
  async function load(own: Held, version: number): Promise<void> {
    const rows = await publications.listSubscriptions();
    const couriers = rows.map((row): [string, Courier] => {
      const known = own.couriers.get(row.id);
      const keys = readSecrets(row);
      if (known?.subscription.generation !== row.generation) return [row.id, createCourier(row, keys)];
      Object.assign(known, { subscription: row, secrets: keys });
      known.progress.ended ??= row.progress.ended;
      return [row.id, known];
    });
    own.couriers = new Map(couriers);
    own.version = version;
    for (const courier of own.couriers.values()) {
      checkTerms(courier);
      if (!courier.secrets && !courier.progress.ended && !isSuspended(courier)) {
        Object.assign(courier.progress, { lastError: "unreadable_secret", suspendedAt: Date.now() });
        courier.isChanged = true;
      }
    }
    // One that is behind the others reads from the journal.
    if (own.feed && couriers.length === 0) own.feed = undefined;
  }

  function readSecrets({ id, secret, oldSecret }: Subscription): Courier["secrets"] {
    const box = secrets();
    const text = box.decrypt(secret, id);
    if (text === undefined) return undefined;
    const old = oldSecret && box.decrypt(oldSecret.secret, id);
    return [{ text, until: Infinity }, ...(old === undefined ? [] : [{ text: old, until: oldSecret?.until ?? 0 }])];
  }

  /** The configuration may have changed since the subscription began. */
  function checkTerms(courier: Courier): void {
    courier.refusal = courier.progress.ended ? undefined : findRefusal(courier.subscription);
  }

  function findRefusal(subscription: Subscription): Courier["refusal"] {
    const { name, arguments: filter } = subscription;
    const principal = findPrincipal(subscription);
    const type = findPublished(current().mappings.mappings, name);
    if (!principal || !maySeeType(principal, name) || !mayAsk(principal, filter)) {
      return { code: CODES.forbidden, message: "Access to this event was removed." };
    }
    if (!type) {
      return { code: CODES.notFound, message: "The event is not published any more.", data: { kind: "event" } };
    }
    const asked = [...Object.keys(filter), ...Object.keys(principal.arguments)];
    if (asked.every((arg) => type.arguments.includes(arg))) return undefined;
    const data = { feature: "inputSchema", reason: "schema_changed" };
    return { code: CODES.unsupported, message: "The event has lost an argument of this subscription.", data };
  }

  /** Not while another node has another configuration: it may be the newer one. Never rejects. */
  async function endRefused(own: Held): Promise<void> {
    const isDisputed = await haveOtherConfigurations().catch(() => true);
    ending = undefined;
    if (isDisputed) return;
    for (const courier of own.couriers.values()) {
      // Another reload may have allowed it meanwhile.
      checkTerms(courier);
      if (courier.refusal) end(courier, courier.refusal);
    }
    wake();
  }

  function findPrincipal({ principal }: Subscription) {
    return current().config.gateway.mcp?.principals.find(({ name }) => name === principal);
  }

  function end(courier: Courier, error: NonNullable<Courier["refusal"]>): void {
    courier.progress.ended = { ...error, at: Date.now() };
    Object.assign(courier, { refusal: undefined, isChanged: true });
  }

  function takes({ subscription }: Courier, publication: NumberedPublication): boolean {
    if (publication.name !== subscription.name || !matchesFilter(publication, subscription.arguments)) return false;
    const principal = findPrincipal(subscription);
    return principal !== undefined && maySee(principal, publication);
  }

  function hasRoom({ subscription: { principal } }: Courier): boolean {
    const own = sending.get(principal) ?? 0;
    return state.sending < MAX_SENDING.all && own < MAX_SENDING.principal && !state.isStopping;
  }

  function countSending(principal: string, change: 1 | -1): void {
    state.sending += change;
    sending.set(principal, (sending.get(principal) ?? 0) + change);
  }

  async function post(courier: Courier, id: string, body: string): ReturnType<typeof sender.post> {
    const { subscription, secrets: keys = [] } = courier;
    const { allowHosts = [] } = current().config.gateway.mcp ?? {};
    const url = new URL(subscription.url);
    // A host may be allowed no more.
    if (url.protocol !== "https:" && !isAllowedHost(url, allowHosts))
      return { kind: "failed", reason: "connection_refused" };
    const now = Date.now();
    const signing = keys.flatMap(({ text, until }) => (until > now ? text : []));
    countSending(subscription.principal, 1);
    try {
      return await sender.post(
        { url: subscription.url, subscription: subscription.id, id, body, secrets: signing },
        allowHosts,
      );
    } finally {
      countSending(subscription.principal, -1);
    }
  }

  /** Saves what has changed, and deletes what is over. */
  async function save(own: Held, { all = false } = {}): Promise<void> {
    const now = Date.now();
    const couriers = [...own.couriers.values()];
    for (const courier of couriers) finishTerms(courier, now);
    const deleted = couriers.filter((courier) => isGone(courier, now));
    const saved = couriers.filter((courier) => !deleted.includes(courier) && (all || isSaveDue(courier, now)));
    if (deleted.length + saved.length === 0) return;
    for (const courier of saved) {
      if (isNewlySuspended(courier)) raise(courier);
      Object.assign(courier, { isChanged: false, savedAt: now });
    }
    // A copy: the progress goes on while it is saved.
    const saving = saved.map((courier) => {
      const abandoned = [...courier.abandoned];
      return { courier, abandoned, progress: toProgress(courier) };
    });
    const changes = {
      saved: saving.map(({ courier: { subscription }, abandoned, progress }) => {
        const { id, generation } = subscription;
        return { id, generation, progress, abandoned };
      }),
      deleted: deleted.map(({ subscription: { id, generation } }) => ({ id, generation })),
    };
    if (!(await publications.saveProgress(own.lease, changes))) {
      held = undefined;
      return;
    }
    for (const { subscription } of deleted) own.couriers.delete(subscription.id);
    for (const { courier, abandoned, progress } of saving) {
      courier.subscription.progress = progress;
      courier.abandoned.splice(0, abandoned.length);
    }
  }

  function finishTerms(courier: Courier, now: number): void {
    const { progress, subscription } = courier;
    if (progress.ended || subscription.expiresAt !== undefined || !isSuspended(courier)) return;
    if (now - (progress.suspendedAt ?? now) < SUSPENDED_MS) return;
    end(courier, { code: CODES.callbackEndpoint, message: "The callback could not be reached for 7 days." });
  }

  function raise({ subscription: { id, principal }, progress: { lastError } }: Courier): void {
    log.warn("subscription suspended", { subscription: id, principal, reason: lastError });
    const text = `The subscription ${id} of ${principal} is suspended (${lastError}). See: ${toCommand("subscriptions show", id)}`;
    alerts.raise({ kind: "subscription-suspended", subject: id, text });
  }

  async function stop(): Promise<void> {
    state.isStopping = true;
    alarm.stop();
    await running;
    for (let waitedMs = 0; state.sending > 0 && waitedMs < STOP_MS; waitedMs += MIN_WAIT_MS) await delay(MIN_WAIT_MS);
    try {
      if (held) await save(held, { all: true });
    } catch (error) {
      log.warn("the progress of subscriptions was not saved", { error: messageOf(error) });
    }
  }
}

/** The types whose schemas the publications change. */
function widenTypes(types: ReadonlyMap<string, object>, rows: readonly Unnumbered[]): Map<string, object> {
  const widened = new Map<string, object>();
  for (const { name, data, arguments: args } of rows) {
    const before = widened.get(name) ?? types.get(name);
    if (!before && types.size + widened.size >= MAX_TYPES) continue;
    const after = widenSchema(before ?? {}, data === undefined ? args : parseObject(data));
    if (after !== before) widened.set(name, after);
  }
  return widened;
}

function isGone(courier: Courier, now: number): boolean {
  const { subscription, progress } = courier;
  const { expiresAt = Infinity } = subscription;
  return expiresAt <= now || isOver(courier) || now - (progress.ended?.at ?? now) > TELL_ENDED_MS;
}

function isSaveDue({ isChanged, savedAt, scanned, subscription }: Courier, now: number): boolean {
  if (isChanged) return now - savedAt >= SAVE_MS;
  return scanned > subscription.progress.acked && now - savedAt >= SAVE_QUIET_MS;
}

function nextWorkAt(courier: Courier): number {
  return Math.min(nextDueAt(courier), courier.isChanged ? courier.savedAt + SAVE_MS : Infinity);
}

function isNewlySuspended({ progress, subscription }: Courier): boolean {
  return progress.suspendedAt !== undefined && progress.suspendedAt !== subscription.progress.suspendedAt;
}
