import { Client } from "pg";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import {
  NOW,
  nextId,
  receiptOf,
  sampleApproval,
  sampleDelivery,
  sampleEntry,
  sampleEvent,
  sampleKeys,
  sampleOutcome,
  sampleRun,
  sampleWake,
} from "../../../test/contracts/journal/samples.ts";
import { createGate } from "../../../test/support/gate.ts";
import { lendDatabase } from "../../../test/support/lent-database.ts";
import { createPostgresUrl } from "../../../test/support/postgres.ts";
import { startTcpProxy } from "../../../test/support/tcp-proxy.ts";
import type { ClaimedRun, NewAction, NewWork } from "../../core/journal/journal.ts";
import { silentTelemetry } from "../../core/telemetry/telemetry.ts";
import { silentLog } from "../../core/telemetry/log.ts";
import { createDatabase } from "./database.ts";
import { migrate, MIGRATIONS } from "./schema.ts";
import { createPostgresJournal, type PostgresJournal, type PostgresJournalOptions } from "./postgres.ts";

const opened: PostgresJournal[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((journal) => journal.close()));
});

async function openNode(
  options: Pick<PostgresJournalOptions, "url"> & Partial<PostgresJournalOptions>,
): Promise<PostgresJournal> {
  const journal = await createPostgresJournal({
    maxConnections: 6,
    commitTimeoutMs: 60_000,
    telemetry: silentTelemetry,
    firstLeaseMs: 60_000,
    pollMs: 3_600_000,
    ...options,
  });
  opened.push(journal);
  return journal;
}

/** Two nodes that share connections, which takes the server less. */
async function openTwo(...options: Partial<PostgresJournalOptions>[]): Promise<[PostgresJournal, PostgresJournal]> {
  const database = await lendDatabase();
  const [first, second] = options;
  return [await openNode({ ...database, ...first }), await openNode({ ...database, ...second })];
}

const TIMES = Array.from({ length: 30 }, (_, index) => index);

describe("two nodes at the same moment, thirty times", () => {
  test("one key is committed once, and both answer the same", async () => {
    const [a, b] = await openTwo();
    const answers = await Promise.all(
      TIMES.map(async (index) => {
        const event = () => sampleEvent({ actions: [sampleRun(nextId())], idempotency: sampleKeys([`key ${index}`]) });
        return Promise.all([a.accept(event()), b.accept(event())]);
      }),
    );
    for (const both of answers) {
      expect(both.map(({ kind }) => kind).toSorted()).toEqual(["committed", "replayed"]);
      expect(new Set(both.map((answer) => receiptOf(answer).eventId)).size).toBe(1);
    }
    expect(await a.stats()).toMatchObject({ events: TIMES.length, pendingRuns: TIMES.length });
  });

  test("one session has one head, and runs in the order of the commits", async () => {
    const [a, b] = await openTwo();
    const accept = (node: PostgresJournal, session: string) =>
      node.accept(sampleEvent({ actions: [sampleRun(session)] }));
    await Promise.all(TIMES.flatMap((index) => [a, b].map((node) => accept(node, `s${index % 15}`))));
    const order = new Map<string, string[]>();
    const drain = async (node: PostgresJournal): Promise<void> => {
      for (;;) {
        const claimed = await node.claimRuns(16, NOW);
        if (claimed.length === 0 && (await node.stats()).pendingRuns === 0) return;
        await Promise.all(
          claimed.map(async (run) => {
            order.set(run.sessionKey, [...(order.get(run.sessionKey) ?? []), run.id]);
            expect(await node.completeRun(run, sampleOutcome())).toBe(true);
          }),
        );
      }
    };
    await Promise.all([drain(a), drain(b)]);
    const committed = await a.commit(({ all }) => all("SELECT id, session_key FROM hookline.runs ORDER BY seq"));
    expect(committed).toHaveLength(TIMES.length * 2);
    for (const [session, ids] of order) {
      expect(ids).toEqual(committed.filter(({ session_key: key }) => key === session).map(({ id }) => id));
    }
  });

  test("one coalescing window has one run", async () => {
    const [a, b] = await openTwo();
    const accept = (node: PostgresJournal, index: number) => {
      const window = { key: `window ${index}`, closesAt: NOW + 1000 };
      const coalesce = { key: window.key, windowMs: 1000 };
      return node.accept(sampleEvent({ actions: [{ ...sampleRun(nextId(), { coalesce }), window }] }));
    };
    const answers = await Promise.all(TIMES.map((index) => Promise.all([a, b].map((node) => accept(node, index)))));
    for (const both of answers) {
      const actions = both.flatMap((answer) => receiptOf(answer).actions);
      expect(new Set(actions.map(({ runId }) => runId)).size).toBe(1);
      expect(actions.filter(({ coalesced }) => coalesced)).toHaveLength(1);
    }
    expect(await a.stats()).toMatchObject({ events: TIMES.length * 2, pendingRuns: TIMES.length });
  });
});

test("entries of a session appear in the order of their numbers, so that a reader's cursor skips none", async () => {
  const [a, b] = await openTwo();
  const toWake = (sessionKey: string): NewAction => {
    const { action } = sampleWake("Look.");
    return { action, entry: sampleEntry({ sessionKey, role: "system" }) } as NewAction;
  };
  const accept = (node: PostgresJournal, ...sessions: string[]) =>
    node.accept(sampleEvent({ actions: sessions.map(toWake) }));
  await accept(a, "a", "main");
  const { entries: known } = (await b.getSession("main", { limit: 10 }))!;

  // The first node waits for the session "a", with an entry of "main" in the same commit.
  const [locked, passed] = [createGate(), createGate()];
  const holding = b.commit(async ({ run }) => {
    await run("SELECT 1 FROM hookline.sessions WHERE key = 'a' FOR UPDATE");
    locked.open();
    await passed.passed;
  });
  await locked.passed;
  const first = accept(a, "a", "main");
  const waits = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  await expect.poll(() => b.commit(({ get }) => get(waits))).toBeTruthy();
  await accept(b, "main");
  const page = (await b.getSession("main", { limit: 10, after: known.at(-1)!.seq }))!.entries;
  passed.open();
  await Promise.all([holding, first]);
  const next = (await b.getSession("main", { limit: 10, after: page.at(-1)?.seq ?? known.at(-1)!.seq }))!.entries;
  const all = (await b.getSession("main", { limit: 10 }))!.entries;
  expect([...known, ...page, ...next]).toEqual(all);
  expect(all).toHaveLength(3);
});

// Notifications do not pass through PgBouncer.
const hasNotifications = process.env.HOOKLINE_TEST_POSTGRES_SERVER !== "/pgbouncer";

test.runIf(hasNotifications)("a node that releases a lease, or stops, tells the others", async () => {
  const [a, b] = await openTwo();
  const seen: NewWork[] = [];
  b.watch((work) => seen.push(...work));
  const release = async (): Promise<NewWork[]> => {
    const lease = await a.lease("heartbeat");
    await a.releaseLease(lease!);
    return seen;
  };
  await expect.poll(release).toContain("lease");
  await a.lease("heartbeat");
  seen.length = 0;
  await a.close();
  await expect.poll(() => seen).toContain("lease");
  expect(await b.lease("heartbeat")).toBeDefined();
});

test("a backlog does not change how many rows a hook, its run and its delivery read", async () => {
  const url = await createPostgresUrl();
  const journal = await openNode({ url, maxConnections: 1 });
  const database = new Client(url);
  await database.connect();
  const empty = await countReads(() => handleOne(journal, nextId()));
  await database.query(BACKLOG);
  await database.query("VACUUM hookline.runs, hookline.deliveries, hookline.event_states");
  // Otherwise what the backlog itself has read may be counted a moment later.
  await database.query("SELECT pg_stat_force_next_flush()");
  const full = await countReads(() => handleOne(journal, nextId()));
  await database.end();
  expect(full).toBeLessThan(empty + 30);

  async function countReads(work: () => Promise<void>): Promise<number> {
    const before = await readStatistics();
    await work();
    return (await readStatistics()) - before;
  }

  /** A connection writes its statistics at the end of a transaction. */
  async function readStatistics(): Promise<number> {
    await journal.commit(({ run }) => run("SELECT pg_stat_force_next_flush()"));
    const { rows } = await database.query(
      `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)
         + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes) AS reads`,
    );
    return Number(rows[0].reads);
  }
});

async function handleOne(journal: PostgresJournal, session: string): Promise<void> {
  await journal.accept(sampleEvent({ actions: [sampleRun(session)], idempotency: sampleKeys([nextId()]) }));
  const [run] = await journal.claimRuns(1, NOW);
  const delivery = sampleDelivery(run!.id, { eventId: run!.eventId, to: run!.id });
  await journal.completeRun(run!, sampleOutcome({ deliveries: [delivery] }));
  const [claimed] = await journal.claimDeliveries(1, NOW + 10);
  const route = { channel: "slack", to: run!.id } as const;
  await journal.finishDelivery(claimed!, { state: "sent", at: NOW, route, partsSent: 1 });
}

/** Work that waits for a later time. */
const BACKLOG = `
  INSERT INTO hookline.event_states (id, hook, status, received_at, open, dead) SELECT gen_random_uuid(), 'github', 'accepted', 1, 1, 0 FROM generate_series(1, 3000);
  INSERT INTO hookline.runs (id, kind, event_id, session_key, state, attempts, created_at, due_at, not_before, action)
    SELECT gen_random_uuid(), 'hook', id, id, 'ready', 1, 1, 1, hookline.now_ms() + 3600000, '{}' FROM hookline.event_states WHERE status = 'accepted';
  INSERT INTO hookline.deliveries (id, run_id, channel, recipient, state, attempts, created_at, due_at, not_before, parts_sent, text)
    SELECT id, id, 'slack', id, 'pending', 1, 1, 1, hookline.now_ms() + 3600000, 0, '' FROM hookline.event_states WHERE status = 'accepted'`;

test("a node that pauses within a transaction does not keep its locks, and repeats its work", async () => {
  const [paused, other] = await openTwo({ maxIdleMs: 500 });
  const wake = () => other.accept(sampleEvent({ actions: [sampleWake("Look.")] }));
  await wake();
  const [locked, continued] = [createGate(), createGate()];
  const work = paused.commit(async ({ run }) => {
    await run("SELECT 1 FROM hookline.sessions WHERE key = 'main' FOR UPDATE");
    locked.open();
    await continued.passed;
    await run("UPDATE hookline.nodes SET probes = 7");
  });
  await locked.passed;
  expect(await wake()).toMatchObject({ kind: "committed" });
  continued.open();
  await work;
  expect(await other.commit(({ get }) => get("SELECT DISTINCT probes FROM hookline.nodes"))).toEqual({ probes: 7 });
});

test("the lease is renewed at its own URL, which must be of the same database", async () => {
  const { url: direct, pool } = await lendDatabase();
  const url = new URL(direct);
  const proxy = await startTcpProxy(Number(url.port));
  onTestFinished(() => proxy.close());
  url.port = String(proxy.port);
  const node = await openNode({ url: url.href, leaseUrl: direct });
  const other = await openNode({ url: direct, pool });
  const readUntil = async (): Promise<number> => {
    const row = await other.commit(({ get }) => get("SELECT max(until)::float8 AS until FROM hookline.nodes"));
    return Number(row?.["until"]);
  };
  const before = await readUntil();
  proxy.cutAfter(() => 0);
  proxy.cut();
  // The work of ended nodes is returned at the other URL, so this ends only once that is back.
  const renewing = node.renewNode(600_000);
  await expect.poll(readUntil).toBeGreaterThan(before + 300_000);
  proxy.cutAfter(undefined);
  await renewing;
  expect(await node.keepLease(performance.now())).toBe(true);
  const elsewhere = { url: direct, leaseUrl: await createPostgresUrl() };
  const problem = { key: "store.leaseUrl", message: expect.stringMatching(/^this is another database/) };
  // On a busy machine, a connection for a lease may not be ready in time.
  const open = (): Promise<unknown> => openNode(elsewhere).catch((error: unknown) => error);
  await expect.poll(open).toMatchObject({ problems: [problem] });
  await node.close();
});

test("a node whose lease has ended, since the database was away, renews it before it claims", async () => {
  let waitedMs = 0;
  const [node, other] = await openTwo({ now: () => Date.now() + waitedMs });
  for (const session of ["a", "b"]) await other.accept(sampleEvent({ actions: [sampleRun(session)] }));
  waitedMs = 120_000;
  await other.commit(({ run }) => run("UPDATE hookline.nodes SET until = 0"));
  // The difference of the clocks is measured, to some milliseconds.
  expect(await node.claimRuns(1, NOW + waitedMs + 5000)).toHaveLength(1);
  expect(await other.renewNode(60_000)).toMatchObject({ runs: 0 });
});

test("nodes whose clocks differ by a minute claim a run at the same moment", async () => {
  const [right, ahead] = await openTwo({}, { now: () => Date.now() + 60_000 });
  const now = Date.now();
  await ahead.accept(sampleEvent({ receivedAt: now + 60_000, actions: [sampleRun("a")] }));
  // The difference of the clocks is measured, and a busy machine makes that inexact.
  const [run] = await right.claimRuns(1, Date.now() + 10_000);
  expect(run).toMatchObject({ sessionKey: "a" });
  await right.retryRun(run!, now + 30_000, "busy");
  expect(await ahead.claimRuns(1, Date.now() + 60_000)).toEqual([]);
  expect(Math.abs((await ahead.nextDueAt())! - (now + 90_000))).toBeLessThan(10_000);
  expect(await ahead.renewNode(60_000)).toEqual({ runs: 0, deliveries: 0 });
  const [again] = await right.claimRuns(1, now + 40_000);
  expect(again).toMatchObject({ sessionKey: "a", attempts: 2 });
  await right.giveBackRun(again!, now + 50_000, { error: "busy", unavailableSince: now, waitingFor: "local" });
  const { unavailableSince } = (await ahead.getRun(again!.id)) ?? {};
  expect(Math.abs(unavailableSince! - (now + 60_000))).toBeLessThan(10_000);
});

test("for nodes whose clocks differ by a minute, a question ends at the same moment", async () => {
  const [right, ahead] = await openTwo({}, { now: () => Date.now() + 60_000 });
  const askedAt = Date.now();
  const ask = async (session: string) => {
    await right.accept(sampleEvent({ receivedAt: askedAt, actions: [sampleRun(session)] }));
    const [run] = await right.claimRuns(1, Date.now());
    const approval = await sampleApproval(right, run!, { askedAt, expiresAt: askedAt + 30_000 });
    expect(await right.holdRun(run!, "approval", { asked: [approval], open: [], steps: [] })).toBe(true);
    return approval;
  };
  const [first, second] = [await ask("a"), await ask("b")];
  const decision = { decision: "approve", by: "operator" } as const;
  expect(await ahead.expireApprovals(askedAt + 75_000)).toBe(0);
  // The difference of the clocks is measured, and a busy machine makes that inexact.
  expect(Math.abs((await ahead.getApproval(first.id))!.expiresAt! - (askedAt + 90_000))).toBeLessThan(10_000);
  expect(await ahead.decideApproval(first.id, { ...decision, at: askedAt + 75_000 })).toMatchObject({
    kind: "decided",
  });
  expect(await ahead.decideApproval(second.id, { ...decision, at: askedAt + 105_000 })).toMatchObject({
    kind: "conflict",
    approval: { state: "expired" },
  });
});

test("connections that break in the middle of commits lose nothing and repeat nothing", async () => {
  const url = new URL((await lendDatabase()).url);
  const proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  const journal = await openNode({ url: url.href });
  const ids: string[] = [];
  const state = { cutting: true };
  const write = async (): Promise<void> => {
    while (state.cutting) {
      const event = sampleEvent({ actions: [sampleRun(nextId())] });
      const result = await journal.accept(event);
      expect(result).toMatchObject({ kind: "committed", receipt: { eventId: event.id } });
      ids.push(event.id);
    }
  };
  const writers = Array.from({ length: 16 }, write);
  proxy.cutAfter(() => 800 + Math.random() * 4000);
  proxy.cut();
  await expect.poll(() => proxy.cuts(), { interval: 20 }).toBeGreaterThan(10);
  state.cutting = false;
  proxy.cutAfter(undefined);
  await Promise.all(writers);
  // A read is not repeated, and the pool may still hold a connection that was just cut.
  await expect.poll(() => journal.stats()).toMatchObject({ events: ids.length, pendingRuns: ids.length });
  await journal.close();
  await proxy.close();
});

test("a start is repeated also if its first attempt took longer than the commit timeout", async () => {
  const url = new URL((await lendDatabase()).url);
  const proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  proxy.cutAfter(() => (proxy.cuts() === 0 ? 1 : Infinity));
  const node = await openNode({ url: url.href, commitTimeoutMs: 1 });
  expect(proxy.cuts()).toBe(1);
  await node.close();
  await proxy.close();
});

test("a claim whose answer was lost is returned to the queue", async () => {
  const { url: direct, pool } = await lendDatabase();
  const url = new URL(direct);
  const proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  const node = await openNode({ url: url.href, commitTimeoutMs: 1 });
  const other = await openNode({ url: direct, pool });
  await other.accept(sampleEvent({ actions: [sampleRun(nextId())] }));

  proxy.cutAt("COMMIT");
  await expect(node.claimRuns(1, NOW)).rejects.toThrow("the database cannot be used");
  expect(await other.listRuns({ limit: 10, state: "running" })).toHaveLength(1);

  proxy.cutAt(undefined);
  await node.renewNode(60_000);
  expect(await other.listRuns({ limit: 10, state: "running" })).toEqual([]);
  await node.close();
  await proxy.close();
});

test.for([
  ["a newer version", "UPDATE hookline.version SET version = 1000", "schema version 1000"],
  [
    "an unreleased version",
    "ALTER TABLE hookline.version DROP COLUMN application_id",
    "an unreleased version made them",
  ],
  [
    "a version before the release",
    "UPDATE hookline.version SET application_id = 1751863345",
    "an unreleased version made them",
  ],
  ["another program", "DROP TABLE hookline.version", "are not of this program"],
] as const)("tables of %s are refused, and not changed", async ([, change, message]) => {
  const url = await createPostgresUrl();
  const node = await openNode({ url });
  await node.accept(sampleEvent());
  const events = () => node.commit(({ all }) => all("SELECT * FROM hookline.events"));
  const before = await events();
  await node.commit(({ run }) => run(change));
  await expect(openNode({ url })).rejects.toMatchObject({
    name: "ConfigError",
    problems: [{ key: "store.url", message: expect.stringContaining(message) }],
  });
  expect(await events()).toEqual(before);
});

test("an upgrade is asked for; an older node that runs goes on, and one that starts ends with its sentence", async () => {
  const url = await createPostgresUrl();
  const older = await openNode({ url });
  await older.accept(sampleEvent({ actions: [sampleRun("before")] }));
  const next = createDatabase({ url, maxConnections: 1, commitTimeoutMs: 0, log: silentLog });
  const migrations = [...MIGRATIONS, "ALTER TABLE hookline.runs ADD COLUMN later integer"];
  await expect(migrate(next, { migrations })).rejects.toThrow(/pg_dump .* then start with --upgrade-store/);
  await expect(openNode({ url }).then((node) => node.close())).resolves.toBeUndefined();

  await migrate(next, { migrations, upgrade: true });
  await migrate(next, { migrations });
  await next.close();
  await older.accept(sampleEvent({ actions: [sampleRun("after")] }));
  expect(await older.claimRuns(2, NOW)).toMatchObject([{ sessionKey: "before" }, { sessionKey: "after" }]);
  await expect(openNode({ url })).rejects.toThrow("this program supports 1 at most; start the newer program");
});

test("a claim that is lost takes nothing along of those that end with it", async () => {
  const [a, b] = await openTwo();
  for (const session of ["x", "y"]) await a.accept(sampleEvent({ actions: [sampleRun(session)] }));
  const [lost, held] = await a.claimRuns(2, NOW);
  await b.commit(({ run }) => run("UPDATE hookline.runs SET state = 'ready' WHERE id = $1", [lost!.id]));
  const [again] = await b.claimRuns(1, NOW);
  expect(again!.id).toBe(lost!.id);
  const outcomeOf = ({ id, eventId, sessionKey }: ClaimedRun) =>
    sampleOutcome({
      entries: [sampleEntry({ sessionKey, runId: id, eventId })],
      deliveries: [sampleDelivery(id, { eventId, to: "same" })],
      usage: { inputTokens: 1, outputTokens: 1 },
    });
  // In one commit.
  const ended = [lost, held].map((run) => a.completeRun(run!, outcomeOf(run!)));
  expect(await Promise.all(ended)).toEqual([false, true]);
  expect(await a.getSession(lost!.sessionKey, { limit: 10 })).toMatchObject({ entries: [] });
  expect((await a.getSession(held!.sessionKey, { limit: 10 }))?.entries).toHaveLength(1);
  expect(await a.spend({ since: 0 })).toMatchObject([{ runs: 1 }]);
  expect(await a.listDeliveries({ limit: 10 })).toMatchObject([{ runId: held!.id, state: "pending" }]);
  expect(await b.completeRun(again!, outcomeOf(again!))).toBe(true);
  expect(await a.listDeliveries({ limit: 10, state: "queued" })).toMatchObject([{ runId: again!.id }]);
});
