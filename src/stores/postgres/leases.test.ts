import type { PoolClient } from "pg";
import { afterEach, expect, test } from "vitest";
import { NOW, nextId, sampleEvent, sampleOutcome, sampleRun } from "../../../test/contracts/journal/samples.ts";
import { type LentDatabase, lendDatabase } from "../../../test/support/lent-database.ts";
import type { ClaimedRun } from "../../core/journal/journal.ts";
import { silentTelemetry } from "../../core/telemetry/telemetry.ts";
import { createPostgresJournal, type PostgresJournal } from "./postgres.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface TestNode extends PostgresJournal {
  /** Advances the clock, like a machine that slept. */
  sleep(ms: number): void;
}

/** Without shared connections the node has its own. */
async function openNode({ url, pool }: Pick<LentDatabase, "url"> & Partial<LentDatabase>): Promise<TestNode> {
  let sleptMs = 0;
  const journal = await createPostgresJournal({
    url,
    pool,
    maxConnections: 2,
    commitTimeoutMs: 60_000,
    telemetry: silentTelemetry,
    firstLeaseMs: 60_000,
    pollMs: 3_600_000,
    now: () => Date.now() + sleptMs,
  });
  closing.push(journal.close);
  return { ...journal, sleep: (ms) => void (sleptMs += ms) };
}

async function connect({ pool }: LentDatabase): Promise<PoolClient> {
  const client = await pool.connect();
  closing.push(async () => client.release());
  return client;
}

async function claimRun(node: PostgresJournal): Promise<ClaimedRun> {
  await node.accept(sampleEvent({ actions: [sampleRun(nextId())] }));
  const [run] = await node.claimRuns(1, Date.now() + 10_000);
  return run!;
}

const END_LEASES = "UPDATE hookline.nodes SET until = 0";
const NOTHING = { runs: 0, deliveries: 0 };

test("the first node that renews after an outage takes nothing from the others, which renew a moment later", async () => {
  const database = await lendDatabase();
  const [first, second, gone] = [await openNode(database), await openNode(database), await openNode(database)];
  const [run] = [await claimRun(second), await claimRun(gone)];
  const lease = await second.lease("heartbeat");
  await (await connect(database)).query(END_LEASES);

  expect(await first.renewNode(60_000)).toEqual(NOTHING);
  expect(await first.lease("heartbeat")).toBeUndefined();
  expect(await second.renewNode(60_000)).toEqual(NOTHING);
  expect(await first.renewNode(60_000)).toEqual({ runs: 1, deliveries: 0 });
  expect(await first.lease("heartbeat")).toBeUndefined();
  expect(await second.lease("heartbeat")).toEqual(lease);
  expect(await second.completeRun(run, sampleOutcome())).toBe(true);
});

test("a claim renews an ended lease, and the renewal that was planned a moment later takes nothing either", async () => {
  const database = await lendDatabase();
  const [first, second] = [await openNode(database), await openNode(database)];
  const run = await claimRun(second);
  first.sleep(120_000);
  await (await connect(database)).query(END_LEASES);

  await first.claimRuns(1, NOW);
  expect(await first.renewNode(60_000)).toEqual(NOTHING);
  expect(await second.renewNode(60_000)).toEqual(NOTHING);
  expect(await first.renewNode(60_000)).toEqual(NOTHING);
  expect(await second.completeRun(run, sampleOutcome())).toBe(true);
});

test("a new node takes the work of ended nodes at once", async () => {
  const database = await lendDatabase();
  await claimRun(await openNode(database));
  await (await connect(database)).query(END_LEASES);
  const node = await openNode(database);
  expect(await node.listRuns({ limit: 1 })).toMatchObject([{ state: "ready" }]);
});

test("a lock on the runs does not end the lease of a node, also while all its other connections wait", async () => {
  const database = await lendDatabase();
  const node = await openNode({ url: database.url });
  const client = await connect(database);
  const until = async (): Promise<number> =>
    Number((await client.query("SELECT max(until) AS until FROM hookline.nodes")).rows[0].until);
  const before = await until();
  await client.query("BEGIN");
  await client.query("LOCK TABLE hookline.runs");
  const accepting = Promise.all([0, 1, 2].map(() => node.accept(sampleEvent({ actions: [sampleRun(nextId())] }))));
  const renewing = [node.renewNode(120_000), node.renewNode(180_000)];
  await expect.poll(until).toBeGreaterThan(before + 60_000);
  await client.query("ROLLBACK");
  await Promise.all([...renewing, accepting]);
});

test("work in a locked row is not waited for: the leases that were read would be outdated", async () => {
  const database = await lendDatabase();
  const [node, other] = [await openNode(database), await openNode(database)];
  const run = await claimRun(other);
  const client = await connect(database);
  await client.query("UPDATE hookline.nodes SET until = 0 WHERE id = (SELECT node FROM hookline.runs)");
  await client.query("BEGIN");
  await client.query("SELECT 1 FROM hookline.runs FOR UPDATE");
  expect(await node.renewNode(60_000)).toEqual(NOTHING);
  await other.renewNode(60_000);
  await client.query("ROLLBACK");
  expect(await node.renewNode(60_000)).toEqual(NOTHING);
  expect(await other.completeRun(run, sampleOutcome())).toBe(true);
});

test("a lease lasts without a question to the database, is extended when a third is left, and is doubted after it ended", async () => {
  const database = await lendDatabase();
  const node = await openNode(database);
  const client = await connect(database);
  const seenAt = async (): Promise<number> =>
    Number((await client.query("SELECT seen_at FROM hookline.nodes")).rows[0].seen_at);
  const claimedAt = performance.now();
  const first = await seenAt();
  node.sleep(30_000);
  expect(await node.keepLease(claimedAt)).toBe(true);
  expect(await seenAt()).toBe(first);
  node.sleep(15_000);
  expect(await node.keepLease(claimedAt)).toBe(true);
  expect(await seenAt()).not.toBe(first);
  node.sleep(120_000);
  expect(await node.keepLease(claimedAt)).toBe(false);
  expect(await node.keepLease(claimedAt)).toBe(false);
  expect(await node.keepLease(performance.now())).toBe(true);
});
