import { setTimeout as delay } from "node:timers/promises";
import type { PoolClient } from "pg";
import { afterEach, expect, test } from "vitest";
import { numberAll, publish } from "../../../test/contracts/journal/publications.ts";
import { type LentDatabase, lendDatabase } from "../../../test/support/lent-database.ts";
import { silentTelemetry } from "../../core/telemetry/telemetry.ts";
import type { NewWork } from "../../core/journal/journal.ts";
import { createPostgresJournal, type PostgresJournal } from "./postgres.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function openNode(database: LentDatabase, pollMs = 3_600_000): Promise<PostgresJournal> {
  const journal = await createPostgresJournal({
    ...database,
    maxConnections: 4,
    commitTimeoutMs: 60_000,
    telemetry: silentTelemetry,
    firstLeaseMs: 60_000,
    pollMs,
  });
  closing.push(journal.close);
  return journal;
}

async function connect({ pool }: LentDatabase): Promise<PoolClient> {
  const client = await pool.connect();
  closing.push(async () => client.release());
  return client;
}

async function readIds({ publications }: PostgresJournal, after: number): Promise<string[]> {
  const { position: upTo } = await publications.state();
  return (await publications.read({ after, upTo, limit: 1000 })).map(({ id }) => id);
}

test("what a node commits late gets a later position: a reader skips nothing", async () => {
  const database = await lendDatabase();
  const [a, b] = [await openNode(database), await openNode(database)];
  // The first row is written, and its commit is held open.
  const open = await connect(database);
  await open.query("BEGIN");
  await open.query(
    `INSERT INTO hookline.publications (id, name, arguments, at, via) VALUES ('held', 'deploys', '{}', 1, '[]')`,
  );
  const early = await publish(b);
  expect(await numberAll(a)).toBe(true);
  expect(await readIds(a, 0)).toEqual([early]);
  const cursor = (await a.publications.state()).position;
  await open.query("COMMIT");
  const late = await publish(a);
  await numberAll(a);
  expect(await readIds(b, cursor)).toEqual(["held", late]);
});

test("two nodes number under a lease: none is numbered twice, and the one without it numbers nothing", async () => {
  const database = await lendDatabase();
  const [a, b] = [await openNode(database), await openNode(database)];
  await publish(a);
  const lease = (await a.lease("publications"))!;
  expect(await b.lease("publications")).toBeUndefined();
  const seqs = (await a.publications.listUnnumbered(10)).map(({ seq }) => seq);
  await a.releaseLease(lease);
  const taken = (await b.lease("publications"))!;
  expect(await a.publications.number(lease, { seqs, types: [] })).toBe(false);
  expect(await b.publications.number(taken, { seqs, types: [] })).toBe(true);
  expect(await a.publications.saveProgress(lease, { saved: [], deleted: [] })).toBe(false);
  expect((await a.publications.state()).position).toBe(1);
});

test("a node finds what was numbered also without a notification", async () => {
  const database = await lendDatabase();
  const node = await openNode(database, 20);
  const seen: NewWork[] = [];
  node.watch((work) => seen.push(...work));
  const other = await connect(database);
  await other.query(
    `INSERT INTO hookline.publications (id, name, arguments, at, via, position) VALUES ('quiet', 'deploys', '{}', 1, '[]', 1);
     UPDATE hookline.publishing SET position = 1`,
  );
  await expect.poll(() => seen).toContain("publication");
});

test("positions are dense while two nodes publish at once", async () => {
  const database = await lendDatabase();
  const [a, b] = [await openNode(database), await openNode(database)];
  const done = new AbortController();
  const numbering = (async () => {
    while (!done.signal.aborted) {
      await numberAll(a);
      await delay(1);
    }
  })();
  const ids = await Promise.all(Array.from({ length: 200 }, (_, index) => publish(index % 2 === 0 ? a : b)));
  done.abort();
  await numbering;
  await numberAll(a);
  const rows = await b.publications.read({ after: 0, upTo: 1000, limit: 1000 });
  expect(rows.map(({ position }) => position)).toEqual(ids.map((_, index) => index + 1));
  expect(rows.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
});
