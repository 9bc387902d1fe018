/**
 * Runs random sequences of hooks, duplicates, crashes, restarts and operators' retries through the real journal and the
 * real dispatcher. The model: each message reaches its session once, in order.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "./support/property.ts";
import { expect, test } from "vitest";
import { DriverError } from "../src/core/errors.ts";
import type { NewEvent } from "../src/core/journal/journal.ts";
import { receiptOf, sampleEvent, sampleKeys, sampleRun } from "./contracts/journal/samples.ts";
import { waitFor } from "./support/client.ts";
import { type DispatchService, scripted, startDispatch } from "./support/dispatch.ts";

/** How the agent handles a message: answers, fails a few times first, or fails until an operator retries it. */
type Fate = "ok" | "busy once" | "busy twice" | "broken";

type Command =
  | { kind: "accept"; session: string; mapping: string; fate: Fate; windowed: boolean }
  | { kind: "duplicate"; pick: number }
  /** The process ends between any two commits: no work is finished or released. */
  | { kind: "crash" }
  /** A clean stop that aborts running work. */
  | { kind: "stop" }
  | { kind: "retry-all" }
  | { kind: "pause"; ms: number };

const COMMANDS = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant("accept" as const),
        session: fc.constantFrom("a", "b", "c", "d"),
        mapping: fc.constantFrom("free", "single"),
        fate: fc.constantFrom<Fate>("ok", "ok", "busy once", "busy twice", "broken"),
        windowed: fc.boolean(),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("duplicate" as const), pick: fc.nat() }) },
    { weight: 1, arbitrary: fc.constant<Command>({ kind: "crash" }) },
    { weight: 1, arbitrary: fc.constant<Command>({ kind: "stop" }) },
    { weight: 1, arbitrary: fc.constant<Command>({ kind: "retry-all" }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("pause" as const), ms: fc.nat(12) }) },
  ),
  { maxLength: 40, size: "max" },
);

/** An accepted message. */
interface Sent {
  text: string;
  session: string;
  event: NewEvent;
}

interface World {
  folder: string;
  service: DispatchService;
  sent: Sent[];
  /** How often the agent has failed for each text. */
  refusals: Map<string, number>;
  /** Broken messages that an operator has retried: they work from then on. */
  fixed: Set<string>;
  /** The highest number of concurrent turns of the mapping that is limited to one. */
  maxSingles: number;
}

test("each session gets its messages once and in order", async () => {
  const property = fc.asyncProperty(COMMANDS, async (commands) => {
    const world = await begin();
    try {
      for (const command of commands) await perform(command, world);
      await waitUntilIdle(world);
      expect(world.maxSingles).toBeLessThanOrEqual(1);
      await expectOnceInOrder(world);
    } finally {
      await world.service.close();
      rmSync(world.folder, { recursive: true, force: true });
    }
  });
  await fc.assert(property, { numRuns: 12 });
});

async function begin(): Promise<World> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-model-"));
  const world = { folder, sent: [], refusals: new Map(), fixed: new Set<string>(), maxSingles: 0 };
  return Object.assign(world, { service: await startOn(world) });
}

function startOn(world: Omit<World, "service">): Promise<DispatchService> {
  let singles = 0;
  const agent = scripted(async ({ message }) => {
    const isSingle = message.includes(" single ");
    if (isSingle) world.maxSingles = Math.max(world.maxSingles, (singles += 1));
    await sleep(Math.random() * 3);
    if (isSingle) singles -= 1;
    for (const text of textsIn(message)) answerOrFail(text, world);
    return "done";
  });
  const limits = new Map([["single", { concurrency: 1 }]]);
  return startDispatch({ agent, folder: world.folder, limits, settings: { maxAttempts: 1000 } });
}

function answerOrFail(text: string, { refusals, fixed }: Omit<World, "service">): void {
  const fate = text.replace(/^\d+ \w+ /, "");
  const failed = refusals.get(text) ?? 0;
  const times = { "busy once": 1, "busy twice": 2 }[fate] ?? 0;
  if (fate === "broken" && !fixed.has(text)) throw new DriverError("broken", { retryable: false });
  if (failed >= times) return;
  refusals.set(text, failed + 1);
  throw new DriverError("busy", { retryable: true, retryAfterMs: 1 });
}

async function perform(command: Command, world: World): Promise<void> {
  if (command.kind === "accept") return accept(command, world);
  if (command.kind === "duplicate") return duplicate(command.pick, world);
  if (command.kind === "retry-all") return retryAll(world);
  if (command.kind === "pause") return sleep(command.ms);
  // The journal is closed first, so it records nothing of the work that the stop aborts.
  if (command.kind === "crash") await world.service.journal.close();
  await world.service.dispatcher.close(0);
  await world.service.journal.close();
  world.service = await startOn(world);
}

async function accept(
  { session, mapping, fate, windowed }: Extract<Command, { kind: "accept" }>,
  { service, sent }: World,
): Promise<void> {
  const text = `${sent.length} ${mapping} ${fate}`;
  const receivedAt = Date.now();
  const coalesce = windowed ? { key: session, windowMs: 10 } : undefined;
  const run = sampleRun(session, {
    message: `<${text}>`,
    coalesce,
    deliver: false,
    wakeMode: "next-heartbeat",
    allowUnsafeExternalContent: true,
  });
  const window = coalesce && { key: `${mapping} ${session}`, closesAt: receivedAt + coalesce.windowMs };
  const idempotency = sampleKeys([text], { expiresAt: receivedAt + 600_000 });
  const event = sampleEvent({ receivedAt, mapping, idempotency, actions: [{ ...run, window }] });
  await service.journal.accept(event);
  sent.push({ text, session, event });
}

async function duplicate(pick: number, { service, sent }: World): Promise<void> {
  const first = sent.at(pick % Math.max(sent.length, 1));
  if (!first) return;
  const again = { ...first.event, id: sampleEvent().id, receivedAt: Date.now() };
  expect(receiptOf(await service.journal.accept(again))).toMatchObject({
    eventId: first.event.id,
    replayed: true,
  });
}

/** An operator has fixed the cause, and retries everything. */
async function retryAll({ service, sent, fixed }: World): Promise<void> {
  for (const { text } of sent) if (isBroken(text)) fixed.add(text);
  const dead = await service.journal.listDeadLetters({ limit: 1000 });
  for (const { id } of dead) await service.journal.retryDeadLetter(id, Date.now());
}

async function waitUntilIdle({ service }: World): Promise<void> {
  await waitFor(async () => (await service.journal.stats()).pendingRuns === 0, "all runs to end");
}

async function expectOnceInOrder({ service, sent }: World): Promise<void> {
  for (const session of ["a", "b", "c", "d"]) {
    const runs = await runsOf(
      sent.filter((each) => each.session === session),
      service,
    );
    const given = await textsOf(session, service);
    const done = runs.filter(({ status }) => status === "done").flatMap(({ texts }) => texts);
    expect(given.toSorted()).toEqual(done.toSorted());
    // The order does not apply to messages that an operator retried.
    const retried = runs.flatMap(({ texts }) => (texts.some(isBroken) ? texts : []));
    const isInOrder = (text: string): boolean => !retried.includes(text);
    expect(given.filter(isInOrder)).toEqual(done.filter(isInOrder));
  }
}

/** The runs in the order of acceptance, each with the messages that joined it. */
async function runsOf(sent: Sent[], { journal }: DispatchService): Promise<{ texts: string[]; status: string }[]> {
  const runs = new Map<string, { texts: string[]; status: string }>();
  for (const { text, event } of sent) {
    const record = await journal.getEvent(event.id);
    const [run] = record?.runs ?? [];
    if (!record || !run) throw new Error(`${text} has no run`);
    expect(record.status).toBe(run.state === "dead" ? "failed" : run.state);
    const texts = runs.get(run.id)?.texts ?? [];
    runs.set(run.id, { texts: [...texts, text], status: record.status });
  }
  return [...runs.values()];
}

function isBroken(text: string): boolean {
  return text.endsWith("broken");
}

/** The agent's input in a session, as far as it answered. */
async function textsOf(key: string, { journal }: DispatchService): Promise<string[]> {
  const session = await journal.getSession(key, { limit: 1000 });
  const asked = session?.entries.filter(({ role }) => role === "user") ?? [];
  return asked.flatMap(({ text }) => textsIn(text));
}

function textsIn(message: string): string[] {
  return [...message.matchAll(/<([^<>]*)>/g)].map(([, text = ""]) => text);
}
