import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { toCursor } from "../../../src/mcp/occurrence.ts";
import { waitFor } from "../../support/client.ts";
import { type Callback, createSecret, type Json, publishing, rpc, startCallback } from "../../support/mcp.ts";
import { withTokens } from "../../support/service.ts";
import { createRandom } from "./random.ts";
import { startApart, startHere } from "./running-service.ts";

export interface SubscriptionsReport {
  events: number;
  /** Events that a subscriber neither got nor is listed to have lost. */
  lost: number;
  /** Cursors that were ahead of an event that was neither acknowledged nor given up. */
  ahead: number;
  /** Polls that did not give exactly what was committed, in one order. */
  wrongPolls: number;
  deliveries: number;
  abandoned: number;
}

/** The publications that a subscriber saw, in order. */
interface Seen {
  eventId: string;
  cursor: number;
  isAcknowledged: boolean;
}

const SENDERS = 8;

/** Kills the service while it delivers to three subscribers, of which one answers 500 to this share of its messages. */
export async function runSubscriptionsCampaign({
  events,
  kills,
  seed,
  failing = 1 / 3,
}: {
  events: number;
  kills: number;
  seed: number;
  failing?: number;
}): Promise<SubscriptionsReport> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-subscriptions-"));
  const file = path.join(folder, "webhooks.json5");
  writeFileSync(file, JSON.stringify(withTokens(publishing())));
  const random = createRandom(seed);
  const callbacks = await Promise.all([startCallback(), startCallback(), startCallback()]);
  const seen = callbacks.map((callback, index) =>
    record(callback, () => (index === 2 && random.next() < failing ? 500 : 204)),
  );
  let service = await startApart(file);
  const secret = createSecret();
  try {
    const first = await rpc(service.url, "events/poll", { name: "deploys" });
    for (const { url } of callbacks) await subscribe(service.url, url, secret);
    const accepted: string[] = [];
    const sending = Promise.all(Array.from({ length: SENDERS }, (_, sender) => send(sender)));
    for (let kill = 0; kill < kills; kill += 1) {
      const next = Math.floor((events * (kill + 1)) / (kills + 1));
      await waitFor(() => accepted.length >= next, `${next} events to be accepted`);
      await service.end("SIGKILL");
      service = await (kill < kills - 1 ? startApart(file) : startHere(folder));
    }
    await sending;
    const list = (): Promise<Json> => service.client.api("/api/subscriptions");
    await waitUntilDelivered(async () => (await list()).subscriptions.map(({ behind }: Json) => behind));
    const { api } = service.client;
    const order = await pollAll(service.url, first.result.cursor);
    const [store] = first.result.cursor.split(".");
    const begin = positionOf(first.result.cursor);
    let wrongPolls = isSame(order.toSorted(), accepted.toSorted()) ? 0 : 1;
    for (let tries = 0; tries < 20; tries += 1) {
      const from = random.below(events);
      const at = { position: begin + from, id: order[from - 1] ?? "" };
      const rest = await pollAll(service.url, from === 0 ? first.result.cursor : toCursor(store, at));
      if (!isSame(rest, order.slice(from))) wrongPolls += 1;
    }
    const positions = new Map(order.map((id, index) => [id, begin + index + 1]));
    const report = { events: accepted.length, lost: 0, ahead: 0, wrongPolls, deliveries: 0, abandoned: 0 };
    for (const [index, { subscriptions }] of [await list()].flatMap((all) =>
      callbacks.map((_, at) => [at, all] as const),
    )) {
      const own = subscriptions.find(({ url }: Json) => callbacks[index]!.url.startsWith(url.split("?")[0]));
      const { abandoned } = await api(`/api/subscriptions/${own.id}`);
      judge(report, seen[index]!, { positions, abandoned: abandoned.map(({ id }: Json) => id), begin });
    }
    return report;

    async function send(sender: number): Promise<void> {
      for (let n = sender; n < events; n += SENDERS) {
        const id = await post(n);
        accepted.push(id);
      }
    }

    /** Until it is accepted; again with the same key, as a sender does. */
    async function post(n: number): Promise<string> {
      for (;;) {
        try {
          const answer = await service.client.post("deploys", { env: "a", n }, { "idempotency-key": `k${n}` });
          if (answer.status === 200) return answer.body.eventId;
        } catch {
          // The service was killed.
        }
        await sleep(20);
      }
    }
  } finally {
    await service.end("SIGKILL");
    for (const callback of callbacks) await callback.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The one that fails takes its time, but goes on. */
async function waitUntilDelivered(readBehind: () => Promise<number[]>): Promise<void> {
  for (let left = Infinity; left > 0;) {
    left = await waitFor(async () => {
      const next = (await readBehind()).reduce((sum, behind) => sum + behind, 0);
      return next < left && { next };
    }, "another event to be delivered").then(({ next }) => next);
  }
}

async function subscribe(service: string, url: string, secret: string): Promise<void> {
  const delivery = { mode: "webhook", url, secret };
  const { error } = await rpc(service, "events/subscribe", { name: "deploys", delivery, ttlMs: null });
  if (error) throw new Error(error.message);
}

function positionOf(cursor: string): number {
  const [, digits = ""] = cursor.split(".");
  return digits === "0" ? 0 : Number(digits.slice(0, -6));
}

function record(callback: Callback, answer: () => number): Seen[] {
  const seen: Seen[] = [];
  callback.answer = ({ body }) => {
    callback.received.length = 0;
    const status = answer();
    seen.push({ eventId: body.eventId, cursor: positionOf(body.cursor), isAcknowledged: status < 300 });
    return status;
  };
  return seen;
}

async function pollAll(service: string, from: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = from; ;) {
    const { result } = await rpc(service, "events/poll", { name: "deploys", cursor, maxEvents: 500 });
    ids.push(...result.events.map(({ eventId }: Json) => eventId));
    if (!result.hasMore) return ids;
    cursor = result.cursor;
  }
}

function judge(
  report: SubscriptionsReport,
  seen: Seen[],
  { positions, abandoned, begin }: { positions: Map<string, number>; abandoned: string[]; begin: number },
): void {
  const done = new Set(abandoned.map((id) => positions.get(id)));
  report.abandoned += abandoned.length;
  report.deliveries += seen.length;
  /** Everything up to it is done. */
  let upTo = begin;
  for (const { eventId, cursor, isAcknowledged } of seen) {
    while (done.has(upTo + 1)) upTo += 1;
    if (cursor > upTo) report.ahead += 1;
    if (isAcknowledged) done.add(positions.get(eventId));
  }
  report.lost += [...positions.values()].filter((position) => !done.has(position)).length;
}

function isSame(one: string[], other: string[]): boolean {
  return one.length === other.length && one.every((id, index) => id === other[index]);
}
