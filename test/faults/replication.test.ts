/** A synchronous standby is away: nothing is acknowledged that would be lost if it were promoted. */
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createPostgresJournal, type PostgresJournal } from "../../src/stores/postgres/postgres.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { NOW, nextId, sampleEvent, sampleKeys, sampleOutcome, sampleRun } from "../contracts/journal/samples.ts";
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts";

let server: PostgresServer;
let admin: Client;
const nodes: PostgresJournal[] = [];

beforeAll(async () => {
  server = await startPostgres({ durable: false });
  admin = new Client(await server.createUrl());
  await admin.connect();
});
afterEach(async () => {
  await setStandby("");
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});
afterAll(async () => {
  await admin.end();
  await server.remove();
});

async function openTwo(): Promise<[PostgresJournal, PostgresJournal]> {
  const url = await server.createUrl();
  for (let count = 0; count < 2; count++) {
    const options = { url, maxConnections: 4, commitTimeoutMs: 60_000, firstLeaseMs: 3_600_000, pollMs: 3_600_000 };
    nodes.push(await createPostgresJournal({ ...options, telemetry: silentTelemetry }));
  }
  return [nodes[0]!, nodes[1]!];
}

/** Each commit waits for a standby of this name; empty: for none. */
async function setStandby(name: string): Promise<void> {
  await admin.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
  await admin.query("SELECT pg_reload_conf()");
  await expect
    .poll(async () => (await admin.query("SHOW synchronous_standby_names")).rows[0])
    .toMatchObject({
      synchronous_standby_names: name,
    });
  // The server's other processes read it a moment later.
  await sleep(500);
}

/** The processes of the server whose commits wait for a standby. */
async function waiting(): Promise<number[]> {
  const { rows } = await admin.query("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' ORDER BY pid");
  return rows.map(({ pid }) => pid);
}

/** Resolves when a commit that does not wait yet waits for the standby; rejects if the result is there without it. */
async function requireToWait(result: Promise<unknown>, earlier: number[] = []): Promise<number> {
  let settled = false;
  void result.finally(() => (settled = true)).catch(() => undefined);
  let pid: number | undefined;
  await expect
    .poll(async () => {
      pid = (await waiting()).find((each) => !earlier.includes(each));
      return settled || pid !== undefined;
    })
    .toBe(true);
  expect(settled).toBe(false);
  return pid!;
}

test.for(["pg_terminate_backend", "pg_cancel_backend"])(
  "a commit that is committed here by %s waits again",
  async (end) => {
    const [node] = await openTwo();
    await setStandby("away");
    const accepting = node.accept(sampleEvent({ actions: [sampleRun(nextId())] }));
    const pid = await requireToWait(accepting);
    await admin.query(`SELECT ${end}($1)`, [pid]);
    await expect.poll(waiting).not.toContain(pid);
    expect(await node.stats()).toMatchObject({ events: 1 });
    await requireToWait(accepting, [pid]);
    await setStandby("");
    expect(await accepting).toMatchObject({ kind: "committed" });
  },
);

test("the end of a run that is found to be recorded waits again", async () => {
  const [node] = await openTwo();
  await node.accept(sampleEvent({ actions: [sampleRun(nextId())] }));
  const [run] = await node.claimRuns(1, NOW);
  await setStandby("away");
  const ending = node.completeRun(run!, sampleOutcome());
  const pid = await requireToWait(ending);
  await admin.query("SELECT pg_terminate_backend($1)", [pid]);
  await requireToWait(ending, [pid]);
  await setStandby("");
  expect(await ending).toBe(true);
});

test("a repeat of an event that another node has found waits too", async () => {
  const [node, other] = await openTwo();
  const event = () => sampleEvent({ actions: [sampleRun(nextId())], idempotency: sampleKeys(["key"]) });
  await setStandby("away");
  const first = node.accept(event());
  const pid = await requireToWait(first);
  await admin.query("SELECT pg_terminate_backend($1)", [pid]);
  const known = [pid, await requireToWait(first, [pid])];

  const { scope, fingerprint } = sampleKeys(["key"]);
  const found = other.findReplay(scope, "key", fingerprint);
  known.push(await requireToWait(found, known));
  const repeated = other.accept(event());
  await requireToWait(repeated, known);
  await setStandby("");
  expect(await Promise.all([first, found, repeated])).toMatchObject([
    { kind: "committed" },
    { kind: "replayed" },
    { kind: "replayed" },
  ]);
});
