import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { builtInDrivers } from "./drivers.ts";
import { resolveUserConfig } from "../core/config/load.ts";
import type { MappingInput, UserConfig } from "../core/config/schema/generated.ts";
import { HookError, JournalUnavailable } from "../core/errors.ts";
import { toEvent, toRefusedEvent } from "../core/journal/new-event.ts";
import type { Journal } from "../core/journal/journal.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import { compileRecurrence, type Recurrence } from "../core/shared/recurrence.ts";
import { silentTelemetry } from "../core/telemetry/telemetry.ts";
import type { HookRequest } from "../core/types.ts";
import { createSqliteJournal } from "../stores/sqlite/sqlite.ts";
import { createPostgresJournal } from "../stores/postgres/postgres.ts";
import { createPostgresUrl } from "../../test/support/postgres.ts";
import { createSchedules, type Schedules } from "./schedule.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Ahead of the machine, whose clock the journal goes by: no key has expired. */
const START = Date.UTC(2027, 0, 1, 0, 0, 30);

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function openSqlite(): Promise<Journal> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-schedule-"));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  const journal = await createSqliteJournal({ folder, telemetry: silentTelemetry });
  closing.push(() => journal.close());
  return journal;
}

type Outcome = "done" | "skipped" | "refused" | "overloaded" | "down";

/** A node, whose clock is the world's. `committed`: the times of events in the order in which they became one. */
interface World {
  now: number;
  outcome: Outcome;
  committed: Map<string, string[]>;
  attempts: number;
}

interface Node extends Schedules {
  configure(rules: Record<string, Recurrence>, more?: UserConfig): void;
  beats: number;
}

function toRuntime(rules: Record<string, Recurrence>, more: UserConfig = {}): Runtime {
  const mappings = Object.entries(rules).map(([id, schedule]): MappingInput => ({
    id,
    schedule,
    messageTemplate: "x",
  }));
  const config = resolveUserConfig(
    { ...more, hooks: { enabled: true, mappings, ...more.hooks } },
    { baseDir: "/" },
    builtInDrivers,
  );
  const known: Pick<Runtime, "config"> = { config };
  return known as Runtime;
}

function startNode(journal: NodeJournal, world: World, rules: Record<string, Recurrence>): Node {
  let runtime = toRuntime(rules);
  const schedules = createSchedules({
    journal,
    telemetry: silentTelemetry,
    current: () => runtime,
    beat: () => (node.beats += 1),
    now: () => world.now,
    receive: (request) => accept(journal, world, request),
  });
  closing.push(() => schedules.close());
  const node: Node = {
    ...schedules,
    beats: 0,
    configure(next, more) {
      runtime = toRuntime(next, more);
      schedules.use(runtime);
    },
  };
  schedules.use(runtime);
  return node;
}

/** Does what `receive.ts` does with a request whose transform has this outcome. */
async function accept(journal: NodeJournal, world: World, request: HookRequest) {
  const { outcome } = world;
  world.attempts += 1;
  if (outcome === "down") throw new JournalUnavailable("the disk is full");
  if (outcome === "overloaded") throw new HookError("overloaded");
  const options = { redact: [], dedupeWindowMs: 1, toSystemEvent: () => expect.fail() };
  const resolution = {
    mapping: request.hook.slice("schedule/".length),
    actions: outcome === "done" ? [{ kind: "none" as const, allowUnsafeExternalContent: false }] : [],
    idempotency: { keys: [request.idempotencyKey ?? ""], perAction: false, conflictOnOtherContent: true },
    warnings: [],
    log: [],
  };
  const error = new HookError("transform_failed");
  const event = outcome === "refused" ? toRefusedEvent(request, error, options) : toEvent(request, resolution, options);
  const result = await journal.accept(event);
  const times = world.committed.get(resolution.mapping) ?? [];
  if (result.kind === "committed") world.committed.set(resolution.mapping, [...times, String(request.idempotencyKey)]);
  if (outcome === "refused") throw error;
  if (!("receipt" in result)) throw new HookError("idempotency_conflict");
  return { receipt: result.receipt };
}

function createWorld(): World {
  return { now: START, outcome: "done", committed: new Map(), attempts: 0 };
}

/** Looks at the clock, and waits for what is due. */
async function look(...nodes: Schedules[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.check()));
}

/** The times that have become events by then. */
async function at(world: World, time: number, ...nodes: Schedules[]): Promise<string[]> {
  world.now = time;
  await look(...nodes);
  return world.committed.get("m") ?? [];
}

const iso = (time: number): string => new Date(time).toISOString();
const minute = (n: number): number => Date.UTC(2027, 0, 1, 0, n);

describe("a rule", () => {
  const every = { m: { every: "1m" } };

  test("that is new or has changed waits for its next time, and so does one that comes back", async () => {
    const [world, journal] = [createWorld(), await openSqlite()];
    const node = startNode(journal, world, every);
    expect(await at(world, START, node)).toEqual([]);
    expect(await at(world, minute(1), node)).toEqual([iso(minute(1))]);
    node.configure({ m: { cron: "*/5 * * * *" } });
    await look(node);
    expect(await at(world, minute(6) - 1, node)).toHaveLength(2);
    node.configure(every);
    expect(await at(world, minute(6) - 1, node)).toHaveLength(2);
    node.configure({});
    await at(world, minute(6) + 2, node);
    world.now = minute(20);
    node.configure(every);
    expect(await at(world, minute(20) + 1, node)).toHaveLength(2);
    node.configure(every, { hooks: { enabled: false } });
    expect(await at(world, minute(22), node)).toHaveLength(2);
    node.configure(every);
    await look(node);
    expect(await at(world, minute(23) + 1, node)).toEqual([iso(minute(1)), iso(minute(5)), iso(minute(23))]);
  });

  test("is made up for once, with the latest time: after a stop, a jump of the clock, a pause", async () => {
    const [world, journal] = [createWorld(), await openSqlite()];
    const earlier = startNode(journal, world, every);
    await look(earlier);
    await at(world, minute(1), earlier);
    await earlier.close();
    const node = startNode(journal, world, every);
    expect(await at(world, minute(7) + 1, node)).toEqual([iso(minute(1)), iso(minute(7))]);
    expect(await at(world, minute(12) + 1, node)).toHaveLength(3);
    await journal.pauseMapping("m", world.now);
    expect(await at(world, minute(20) + 1, node)).toHaveLength(3);
    await journal.resumeMapping("m");
    await expect.poll(() => world.committed.get("m")).toHaveLength(4);
    expect(world.committed.get("m")?.slice(2)).toEqual([iso(minute(12)), iso(minute(20))]);
  });

  test("goes on if the clock is set back, and no time comes twice", async () => {
    const [world, journal] = [createWorld(), await openSqlite()];
    const node = startNode(journal, world, every);
    await look(node);
    await at(world, minute(3), node);
    await at(world, minute(1) + 1, node);
    expect(await at(world, minute(2), node)).toEqual([iso(minute(3)), iso(minute(2))]);
    expect(await at(world, minute(3), node)).toHaveLength(2);
    expect(await at(world, minute(4), node)).toHaveLength(3);
    // A year ahead and back.
    await at(world, minute(4) + 365 * DAY_MS, node);
    await at(world, minute(4) + 1, node);
    expect(await at(world, minute(5), node)).toHaveLength(5);
  });

  test.each<[Outcome, number]>([
    ["skipped", 1],
    ["refused", 1],
    ["done", 1],
  ])("comes once also on three nodes without the lease, where its event is %s", async (outcome, events) => {
    const [world, journal] = [createWorld(), await openSqlite()];
    world.outcome = outcome;
    // Each reads its notes before another has written one, so that only the key is left.
    const nodes = [1, 2, 3].map(() => startNode({ ...journal, listNotes: async () => [] }, world, every));
    await at(world, START, ...nodes);
    expect(await at(world, minute(1), ...nodes)).toHaveLength(events);
    expect(world.attempts).toBe(3);
    // After a crash between the event and the note, and a sweep of everything that may go.
    while (await journal.sweep({ now: Date.now() + DAY_MS, keepFrom: Date.now() + DAY_MS }));
    const later = startNode(journal, world, every);
    expect(await at(world, minute(1) + 1, later)).toHaveLength(events);
  });

  test.each<Outcome>(["overloaded", "down"])(
    "is tried again until its next time while the service is %s",
    async (outcome) => {
      const [world, journal] = [createWorld(), await openSqlite()];
      const node = startNode(journal, world, { m: { every: "5m" } });
      await at(world, START, node);
      world.outcome = outcome;
      await at(world, minute(5), node);
      await at(world, minute(5) + 1500, node);
      expect(await at(world, minute(7), node)).toEqual([]);
      expect(world.attempts).toBe(3);
      world.outcome = "done";
      expect(await at(world, minute(9), node)).toEqual([iso(minute(5))]);
      world.outcome = outcome;
      await at(world, minute(10), node);
      world.outcome = "done";
      expect(await at(world, minute(15), node)).toEqual([iso(minute(5)), iso(minute(15))]);
    },
  );

  test("whose event is refused is not tried again", async () => {
    const [world, journal] = [createWorld(), await openSqlite()];
    const node = startNode(journal, world, { m: { every: "5m" } });
    await at(world, START, node);
    world.outcome = "refused";
    await at(world, minute(5), node);
    await at(world, minute(8), node);
    expect(world.attempts).toBe(1);
  });

  test("waits for the node that has the lease, and no longer", async () => {
    const [world, journal] = [createWorld(), await openSqlite()];
    let isHeld = false;
    const lease: Journal["lease"] = async (name) => (isHeld ? undefined : journal.lease(name));
    const node = startNode({ ...journal, lease }, world, every);
    await at(world, START, node);
    isHeld = true;
    expect(await at(world, minute(1), node)).toEqual([]);
    isHeld = false;
    expect(await at(world, minute(1) + 1000, node)).toEqual([iso(minute(1))]);
  });
});

test("heartbeats come at their times on each node, also if the clock is set back, and make no event", async () => {
  const [world, journal] = [createWorld(), await openSqlite()];
  const node = startNode(journal, world, {});
  const heartbeat = { cron: "*/10 * * * *", timezone: "Europe/Berlin" };
  node.configure({}, { agents: { defaults: { heartbeat } } });
  for (const [time, beats] of [
    [9, 0],
    [10, 1],
    [11, 1],
    [35, 2],
    [0, 2],
    [9, 2],
    [10, 3],
  ] as const) {
    await at(world, minute(time), node);
    expect([time, node.beats]).toEqual([time, beats]);
  }
  expect(world.attempts).toBe(0);
});

/** Nodes stop and start, and each looks at the clock when it likes. None has the lease alone. */
async function simulate(
  journals: NodeJournal[],
  world: World,
  days: number,
): Promise<Record<"found" | "expected", object>> {
  const rules: Record<string, Recurrence> = {
    berlin: { cron: "30 2 * * *", timezone: "Europe/Berlin" },
    newYork: { cron: "15 2 * * *", timezone: "America/New_York" },
    lordHowe: { cron: "45 1 * * *", timezone: "Australia/Lord_Howe" },
  };
  const from = world.now;
  const start = (journal: NodeJournal): Node => startNode(journal, world, rules);
  const nodes = journals.map(start);
  await look(...nodes);
  const times = Object.entries(rules).flatMap(([id, rule]) => {
    const next = compileRecurrence(rule);
    const found = [];
    for (let time = next(from); time < from + days * DAY_MS; time = next(time)) found.push({ id, time });
    return found;
  });
  for (const [step, { time }] of times.toSorted((a, b) => a.time - b.time).entries()) {
    world.now = time + (step % 3) * MINUTE_MS;
    const index = step % nodes.length;
    const [stopped, ...others] = [nodes[index]!, ...nodes.filter((node) => node !== nodes[index])];
    if (step % 5 !== 0) {
      await look(...nodes);
      continue;
    }
    // The node ends with all that it has begun, or before.
    await Promise.all([stopped.check(), stopped.close(), step % 2 === 0 && look(...others)]);
    nodes[index] = start(journals[index]!);
    await look(...nodes);
  }
  const expected = Map.groupBy(times, ({ id }) => id);
  return {
    found: Object.fromEntries(world.committed),
    expected: Object.fromEntries(Array.from(expected, ([id, ofId]) => [id, ofId.map(({ time }) => iso(time))])),
  };
}

type NodeJournal = Parameters<typeof createSchedules>[0]["journal"] & Pick<Journal, "accept">;

const UNLEASED = { lease: async (name: string) => ({ name, token: 1 }), releaseLease: async () => {} };

/** Notes and keys alone, which is all that weeks of schedules need. */
function openMemory(): NodeJournal {
  const notes = new Map<string, string>();
  const keys = new Set<string>();
  return {
    ...UNLEASED,
    listNotes: async () => Array.from(notes, ([key, json]) => ({ key, json })),
    writeNotes: async (written) => written.forEach(({ key, json = "" }) => notes.set(key, json)),
    listPauses: async () => [],
    watch: () => () => {},
    async accept({ id: eventId, idempotency }) {
      const key = `${idempotency?.scope} ${idempotency?.keys[0]}`;
      const receipt = { eventId, actions: [], warnings: [], replayed: keys.has(key) };
      return keys.has(key) ? { kind: "replayed", receipt } : { kind: "committed", receipt: (keys.add(key), receipt) };
    },
  };
}

test.each([
  ["March", Date.UTC(2027, 2, 12), 26],
  ["October", Date.UTC(2027, 9, 1), 40],
])("over the clock changes from %s of three zones, no time comes twice and none is lost", async (_, now, days) => {
  const journal = openMemory();
  const { found, expected } = await simulate([journal, journal, journal], { ...createWorld(), now }, days);
  expect(found).toEqual(expected);
});

test("nor on three nodes of one database, over a clock change", async () => {
  const url = await createPostgresUrl();
  const open = async (): Promise<NodeJournal> => {
    const options = { url, maxConnections: 2, commitTimeoutMs: 60_000, telemetry: silentTelemetry };
    const journal = await createPostgresJournal(options);
    closing.push(() => journal.close());
    return { ...journal, ...UNLEASED };
  };
  const world = { ...createWorld(), now: Date.UTC(2027, 2, 27) };
  const { found, expected } = await simulate([await open(), await open(), await open()], world, 3);
  expect(found).toEqual(expected);
});
