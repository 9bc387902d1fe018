/**
 * The journal in PostgreSQL beside the one in SQLite, and beside pg-boss, a job queue in PostgreSQL: what accepts cost
 * grouped and one transaction each, and how fast runs are claimed and completed, by one node and by two. Each node is a
 * process. Alone: `node test/bench/postgres.ts`.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PgBoss } from "pg-boss";
import type { Journal } from "../../src/core/journal/journal.ts";
import { acceptEvents } from "../../src/stores/postgres/accept.ts";
import { createPostgresJournal } from "../../src/stores/postgres/postgres.ts";
import { createSqliteJournal } from "../../src/stores/sqlite/sqlite.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts";
import { toEvent } from "./event.ts";
import { usageOf } from "./server.ts";
import { acceptEvents as acceptAll, executeAll } from "./work.ts";

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
/** How many events a measurement has, shared by the nodes. */
const EVENTS = Number(process.env.BENCH_EVENTS ?? 6000);
const CALLERS = 64;
const BATCH = 64;
const QUEUE = "runs";

type Store = "sqlite" | "postgres" | "one-by-one" | "pg-boss";

interface Figures {
  perSecond: number;
  /** The CPU time of the nodes, for each event or run. */
  cpuMicros: number;
  /** With PostgreSQL's own. */
  allMicros: number;
}

interface Contestant {
  name: string;
  store: Store;
  nodes: number;
  /** The work that is claimed and completed too: runs with the entries of a turn, or nothing but runs. */
  drains?: "turns" | "runs";
}

const SQLITE = "SQLite";
const ONE_NODE = "PostgreSQL, one node";
const TWO_NODES = "PostgreSQL, two nodes";
const RUNS_ALONE = "PostgreSQL, one node, runs without entries";
const TWO_ALONE = "PostgreSQL, two nodes, runs without entries";
const ONE_BY_ONE = "PostgreSQL, one node, a transaction each";
const BOSS = "pg-boss, one node";
const TWO_BOSSES = "pg-boss, two nodes";

const CONTESTANTS: Contestant[] = [
  { name: SQLITE, store: "sqlite", nodes: 1, drains: "turns" },
  { name: ONE_NODE, store: "postgres", nodes: 1, drains: "turns" },
  { name: TWO_NODES, store: "postgres", nodes: 2, drains: "turns" },
  { name: RUNS_ALONE, store: "postgres", nodes: 1, drains: "runs" },
  { name: TWO_ALONE, store: "postgres", nodes: 2, drains: "runs" },
  { name: ONE_BY_ONE, store: "one-by-one", nodes: 1 },
  { name: BOSS, store: "pg-boss", nodes: 1, drains: "runs" },
  { name: TWO_BOSSES, store: "pg-boss", nodes: 2, drains: "runs" },
];

/** Medians over the rounds; the ratios are of the same round. */
export interface PostgresReport {
  rows: Record<string, Record<string, number | undefined>>;
  ratios: Record<string, number>;
  note: string;
}

export async function measurePostgres(): Promise<PostgresReport> {
  const accepts = new Map<string, Figures[]>();
  const drains = new Map<string, Figures[]>();
  const server = await startPostgres();
  try {
    const rounds = Array.from({ length: ROUNDS }, (_, round) =>
      round % 2 === 0 ? CONTESTANTS : CONTESTANTS.toReversed(),
    );
    for (const contestant of rounds.flat()) {
      const { accept, drain } = await measureContestant(contestant, server);
      // Its jobs are inserted without callers that wait.
      if (contestant.store !== "pg-boss" && contestant.drains !== "runs") add(accepts, contestant.name, accept);
      if (drain) add(drains, contestant.name, drain);
    }
  } finally {
    await server.remove();
  }
  const note = `Medians of ${ROUNDS} rounds, alternating, of ${EVENTS} events of 1 KB by ${CALLERS} callers on each node. A run is claimed with up to ${BATCH - 1} others, and completed with three entries of sessions, the state of its event and the next run of its session; pg-boss inserts, fetches and completes ${BATCH} jobs at a time, and writes nothing else. The CPU is that of the nodes, and with PostgreSQL's own.`;
  return { rows: toRows(accepts, drains), ratios: toRatios(accepts, drains), note };
}

export function printPostgres({ rows, ratios, note }: PostgresReport): void {
  console.table(rows);
  console.table(ratios);
  console.log(note);
}

function add(figures: Map<string, Figures[]>, name: string, measured: Figures): void {
  figures.set(name, [...(figures.get(name) ?? []), measured]);
}

function toRows(accepts: Map<string, Figures[]>, drains: Map<string, Figures[]>): PostgresReport["rows"] {
  return Object.fromEntries(
    CONTESTANTS.map(({ name }) => [
      name,
      {
        "accepted/s": medianOf(accepts.get(name), "perSecond"),
        "CPU µs": medianOf(accepts.get(name), "cpuMicros"),
        "with PostgreSQL": medianOf(accepts.get(name), "allMicros"),
        "completed/s": medianOf(drains.get(name), "perSecond"),
        "CPU µs of a run": medianOf(drains.get(name), "cpuMicros"),
        "with PostgreSQL, of a run": medianOf(drains.get(name), "allMicros"),
      },
    ]),
  );
}

function toRatios(accepts: Map<string, Figures[]>, drains: Map<string, Figures[]>): PostgresReport["ratios"] {
  const ratio = (figures: Map<string, Figures[]>, a: string, b: string, key: keyof Figures): number =>
    median(figures.get(a)!.map((measured, round) => measured[key] / figures.get(b)![round]![key]));
  return {
    "accepts in groups ÷ a transaction each": ratio(accepts, ONE_NODE, ONE_BY_ONE, "perSecond"),
    "completed, one node ÷ pg-boss": ratio(drains, ONE_NODE, BOSS, "perSecond"),
    "completed, two nodes ÷ pg-boss": ratio(drains, TWO_NODES, TWO_BOSSES, "perSecond"),
    "runs without entries, one node ÷ pg-boss": ratio(drains, RUNS_ALONE, BOSS, "perSecond"),
    "runs without entries, two nodes ÷ pg-boss": ratio(drains, TWO_ALONE, TWO_BOSSES, "perSecond"),
    "CPU of a run with PostgreSQL's, pg-boss ÷ one node": ratio(drains, BOSS, ONE_NODE, "allMicros"),
    "CPU of a run with PostgreSQL's, pg-boss ÷ two nodes": ratio(drains, TWO_BOSSES, TWO_NODES, "allMicros"),
    "CPU of an accept on a node ÷ SQLite": ratio(accepts, ONE_NODE, SQLITE, "cpuMicros"),
    "CPU of a run on a node ÷ SQLite": ratio(drains, ONE_NODE, SQLITE, "cpuMicros"),
  };
}

function medianOf(figures: Figures[] | undefined, key: keyof Figures): number | undefined {
  return figures && Math.round(median(figures.map((measured) => measured[key])));
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function measureContestant(
  { store, nodes, drains }: Contestant,
  server: PostgresServer,
): Promise<{ accept: Figures; drain: Figures | undefined }> {
  const folder = mkdtempSync(path.join(tmpdir(), "bench-postgres-"));
  const place = store === "sqlite" ? folder : await server.createUrl();
  const children: ChildProcess[] = [];
  try {
    for (let index = 0; index < nodes; index += 1) {
      const child = fork(import.meta.filename, [store, place, String(index * EVENTS)]);
      children.push(child);
      // One after another: the first creates the tables.
      await once(child, "message");
    }
    const count = EVENTS / nodes;
    const accept = await measureStep(children, { step: "accept", count }, server);
    const drain = drains && (await measureStep(children, { step: "drain", count, drains }, server));
    return { accept, drain };
  } finally {
    for (const child of children) {
      const exit = once(child, "exit");
      child.disconnect();
      await exit;
    }
    rmSync(folder, { recursive: true });
  }
}

interface Step {
  step: "accept" | "drain";
  count: number;
  drains?: Contestant["drains"];
}

async function measureStep(children: ChildProcess[], step: Step, server: PostgresServer): Promise<Figures> {
  const before = cpuMicrosOf(server);
  const startedAt = performance.now();
  const answers = children.map(async (child): Promise<number> => {
    child.send(step);
    const [cpuMicros] = await once(child, "message");
    return cpuMicros;
  });
  const cpuMicros = (await Promise.all(answers)).reduce((sum, each) => sum + each, 0);
  const seconds = (performance.now() - startedAt) / 1000;
  const allMicros = cpuMicros + cpuMicrosOf(server) - before;
  return { perSecond: EVENTS / seconds, cpuMicros: cpuMicros / EVENTS, allMicros: allMicros / EVENTS };
}

function cpuMicrosOf(server: PostgresServer): number {
  return usageOf(server.pid() ?? 0).cpuSeconds * 1e6;
}

/* The work of a node. */

interface Node {
  accept(from: number, count: number): Promise<void>;
  /** Until nothing is left. */
  drain(what: Contestant["drains"]): Promise<void>;
  close(): Promise<void>;
}

async function openNode(store: Store, place: string): Promise<Node> {
  if (store === "pg-boss") return openBoss(place);
  if (store === "sqlite") return toNode(await createSqliteJournal({ folder: place, telemetry: silentTelemetry }));
  const journal = await createPostgresJournal({
    url: place,
    maxConnections: 10,
    commitTimeoutMs: 5000,
    telemetry: silentTelemetry,
    firstLeaseMs: 600_000,
  });
  if (store === "postgres") return toNode(journal);
  const accept: Journal["accept"] = async (event) =>
    (await journal.commit((transaction) => acceptEvents(transaction, [event])))[0]!;
  return toNode({ ...journal, accept });
}

function toNode(journal: Journal): Node {
  return {
    accept: (from, count) => acceptAll(journal, { from, count, inFlight: CALLERS }),
    drain: (what) => inTwo(() => executeAll(journal, BATCH, { delivers: false, hasEntries: what === "turns" })),
    close: () => journal.close(),
  };
}

/** Its jobs carry what an event carries. Nothing else is written when one is completed. */
async function openBoss(url: string): Promise<Node> {
  const boss = new PgBoss({ connectionString: url, max: 10, supervise: false, schedule: false });
  await boss.start();
  await boss.createQueue(QUEUE);
  return {
    async accept(from, count) {
      for (let index = from; index < from + count; index += BATCH) {
        const size = Math.min(BATCH, from + count - index);
        await boss.insert(
          QUEUE,
          Array.from({ length: size }, (_, offset) => ({ data: toEvent(index + offset) })),
        );
      }
    },
    drain: () =>
      inTwo(async () => {
        const jobs = await boss.fetch(QUEUE, { batchSize: BATCH });
        if (jobs.length > 0)
          await boss.complete(
            QUEUE,
            jobs.map(({ id }) => id),
          );
        return jobs.length;
      }),
    close: () => boss.stop({ graceful: false }),
  };
}

/** The next batch is claimed while the one before it is completed. */
async function inTwo(work: () => Promise<number>): Promise<void> {
  const lane = async (): Promise<void> => {
    while ((await work()) > 0);
  };
  await Promise.all([lane(), lane()]);
}

async function serveSteps(store: Store, place: string, from: number): Promise<void> {
  const node = await openNode(store, place);
  process.on("message", async ({ step, count, drains }: Step) => {
    const before = process.cpuUsage();
    await (step === "accept" ? node.accept(from, count) : node.drain(drains));
    const { user, system } = process.cpuUsage(before);
    process.send!(user + system);
  });
  process.once("disconnect", () => void node.close().then(() => process.exit()));
  process.send!("ready");
}

if (import.meta.main) {
  const [, , store, place = "", from = "0"] = process.argv;
  if (process.send) await serveSteps(store as Store, place, Number(from));
  else printPostgres(await measurePostgres());
}
