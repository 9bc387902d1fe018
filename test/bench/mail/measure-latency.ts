import { setTimeout as sleep } from "node:timers/promises";
import { waitFor } from "../../support/client.ts";
import { startDovecot } from "../../system/dovecot.ts";
import { startBareClient } from "./bare-client.ts";
import { startWatcher, type Watcher } from "./watcher.ts";

/** Longer than Dovecot delays its notifications, so that each mail finds a waiting client. */
const PAUSE_MS = 700;
/** Random, so that mails arrive at any point of the server's periodic work. */
const MAX_JITTER_MS = 200;

const [WATCHED, BARE] = ["watched@example.com", "bare@example.com"] as const;

/** Delivers this many mails to each, alternating. Returns a row for each measured event. */
export async function measureLatency({ pairs }: { pairs: number }): Promise<object> {
  const dovecot = await startDovecot([WATCHED, BARE]);
  const watcher = await startWatcher(dovecot, WATCHED);
  const bare = await startBareClient(dovecot, BARE);
  await waitFor(async () => (await watcher.api("/api/status")).mail[0].state === "watching", "the watch");
  const deliveredAt = new Map<string, number>();
  for (let pair = 0; pair < pairs; pair += 1) {
    await deliver(WATCHED, `watched ${pair}`);
    await deliver(BARE, `bare ${pair}`);
  }
  await waitFor(() => bare.arrivals.size === pairs, "the last mail");
  const hooks = await waitFor(() => readHooks(watcher, pairs), "the last turn");
  await watcher.close();
  await bare.close();
  await dovecot.close();

  const floor = toFigures(bare.arrivals, deliveredAt);
  return {
    "bare imapflow: fetched": toRow(floor, floor),
    "hookline: event": toRow(toFigures(hooks.events, deliveredAt), floor),
    "hookline: turn started": toRow(toFigures(hooks.turns, deliveredAt), floor),
  };

  async function deliver(user: string, subject: string): Promise<void> {
    deliveredAt.set(subject, Date.now());
    dovecot.maildir(user).deliver(Buffer.from(`Subject: ${subject}\r\n\r\nA text.\r\n`));
    await sleep(PAUSE_MS + Math.random() * MAX_JITTER_MS);
  }
}

/** By the subjects of their mails, in milliseconds since the epoch. */
interface Hooks {
  events: Map<string, number>;
  turns: Map<string, number>;
}

/** Undefined until the last turn has started: its event is stored by then. */
async function readHooks({ api }: Watcher, count: number): Promise<Hooks | undefined> {
  const { events } = await api("/api/events?hook=mail&limit=1000");
  if (events.length < count) return undefined;
  const hooks: Hooks = { events: new Map(), turns: new Map() };
  for (const { id } of events) {
    const { request, receivedAt, runs } = await api(`/api/events/${id}`);
    if (!runs[0].startedAt) return undefined;
    const [{ subject }] = request.payload.messages;
    hooks.events.set(subject, Date.parse(receivedAt));
    hooks.turns.set(subject, Date.parse(runs[0].startedAt));
  }
  return hooks;
}

interface Figures {
  p50: number;
  p99: number;
}

function toFigures(arrivals: ReadonlyMap<string, number>, deliveredAt: ReadonlyMap<string, number>): Figures {
  const times = Array.from(arrivals, ([subject, at]) => at - (deliveredAt.get(subject) ?? Number.NaN));
  times.sort((one, other) => one - other);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

function toRow({ p50, p99 }: Figures, floor: Figures): object {
  return { "p50 ms": p50, "p99 ms": p99, "× bare at p50": Math.round((p50 / floor.p50) * 100) / 100 };
}
