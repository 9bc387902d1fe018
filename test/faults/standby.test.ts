/** A synchronous standby is away, or takes the place of its primary: nothing is acknowledged that would be lost then. */
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { retryWhileUnavailable } from "../../src/core/dispatch/retry.ts";
import { silentLog } from "../../src/core/telemetry/log.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { createPool, toSettings } from "../../src/stores/postgres/database.ts";
import {
  createPostgresJournal,
  type PostgresJournal,
  type PostgresJournalOptions,
} from "../../src/stores/postgres/postgres.ts";
import {
  NOW,
  nextId,
  sampleDelivery,
  sampleEvent,
  sampleKeys,
  sampleOutcome,
  sampleRun,
  sampleWake,
} from "../contracts/journal/samples.ts";
import { waitFor } from "../support/client.ts";
import { type PostgresPair, startPostgresPair } from "../support/postgres-pair.ts";
import { empty, type Pool } from "../support/postgres-pool.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

let pair: PostgresPair;
const nodes: PostgresJournal[] = [];

beforeAll(async () => {
  pair = await startPostgresPair({ durable: false });
});
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});
afterAll(() => pair.remove());

async function openNode(
  options: Pick<PostgresJournalOptions, "url" | "pool">,
  commitTimeoutMs = 60_000,
): Promise<PostgresJournal> {
  const others = { commitTimeoutMs, maxConnections: 10, firstLeaseMs: 3_600_000, pollMs: 3_600_000 };
  const node = await createPostgresJournal({ ...options, ...others, telemetry: silentTelemetry });
  nodes.push(node);
  return node;
}

async function connect(): Promise<Client> {
  const client = new Client(`postgres://postgres:secret@127.0.0.1:${pair.primary().port}/postgres`);
  await client.connect();
  return client;
}

/** The processes of the primary whose commits wait for a standby. */
async function waiting(client: Client): Promise<number[]> {
  const { rows } = await client.query("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' ORDER BY pid");
  return rows.map(({ pid }) => pid);
}

/** Waits until so many commits wait. */
async function untilWaiting(count: number): Promise<void> {
  const client = await connect();
  await waitFor(async () => (await waiting(client)).length === count, `${count} commits to wait`);
  await client.end();
}

describe("while the standby is away", () => {
  let admin: Client;
  let url: string;
  let pool: Pool;
  beforeAll(async () => {
    admin = await connect();
    url = await pair.createUrl();
    pool = createPool(toSettings(url), 10, silentLog);
  });
  afterAll(() => Promise.all([admin.end(), pool.end()]));
  // Before the nodes are closed, whose commits wait.
  afterEach(() => setStandby(""));

  async function openTwo(): Promise<[PostgresJournal, PostgresJournal]> {
    const first = await openNode({ url, pool });
    await empty(pool);
    await first.renewNode(3_600_000);
    return [first, await openNode({ url, pool })];
  }

  /** Each commit waits for a standby of this name; empty: for none. */
  async function setStandby(name: string): Promise<void> {
    await admin.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
    await admin.query("SELECT pg_reload_conf()");
    const probe = await connect();
    const pid = (await probe.query("SELECT pg_backend_pid() AS pid")).rows[0].pid;
    // The server's other processes read it a moment later.
    await waitFor(async () => {
      let isDone = false;
      const commit = probe.query("SELECT pg_logical_emit_message(true, '', '')").then(() => (isDone = true));
      const waits = await waitFor(async () => (isDone ? "no" : (await waiting(admin)).includes(pid) && "yes"));
      if (waits === "yes") await admin.query("SELECT pg_cancel_backend($1)", [pid]);
      await commit;
      return (waits === "yes") === (name !== "");
    }, "the standby's name to be known");
    await probe.end();
  }

  /** Resolves when a commit that does not wait yet waits for the standby; rejects if the result is there without it. */
  async function requireToWait(result: Promise<unknown>, earlier: number[] = []): Promise<number> {
    let settled = false;
    void result.finally(() => (settled = true)).catch(() => undefined);
    let pid: number | undefined;
    await expect
      .poll(async () => {
        pid = (await waiting(admin)).find((each) => !earlier.includes(each));
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
      await expect.poll(() => waiting(admin)).not.toContain(pid);
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
});

test("rows that a primary shows after a crash, and loses with its failover, are not taken for committed", async () => {
  const url = new URL(await pair.createUrl());
  const proxy = await startTcpProxy(pair.primary().port);
  url.port = String(proxy.port);
  const journal = await openNode({ url: url.href }, 50);
  await journal.accept(sampleEvent({ actions: [sampleRun("first")] }));
  const [first] = await journal.claimRuns(1, NOW);
  await journal.completeRun(first!, sampleOutcome({ deliveries: [sampleDelivery(first!.id)] }));
  const [sending] = await journal.claimDeliveries(1, NOW);
  await journal.accept(sampleEvent({ actions: [sampleRun("second")] }));
  const [running] = await journal.claimRuns(1, NOW);
  const sent = { state: "sent", at: NOW, route: { channel: "slack", to: "C1" } } as const;
  const commits = [() => journal.completeRun(running!, sampleOutcome()), () => journal.finishDelivery(sending!, sent)];

  await pair.complete();
  await pair.cutOff();
  const interrupted = Promise.allSettled([
    ...commits.map((commit) => commit()),
    journal.accept(sampleEvent({ actions: [sampleWake("lost with the primary")] })),
  ]);
  await untilWaiting(3);
  await pair.primary().stop("immediate");
  const outcomes = await interrupted;
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  await pair.primary().start();

  const repeated = [...commits, () => journal.isClaimed(running!)].map((call) => untilAvailable(call));
  const pending = untilAvailable(() => journal.pendingSystemEvents(10));
  await untilWaiting(4);
  await pair.promote();
  proxy.setTarget(pair.primary().port);
  expect(await Promise.all(repeated)).toEqual([true, true, expect.any(Boolean)]);
  expect(await pending).toEqual([]);
  expect(await journal.getRun(running!.id)).toMatchObject({ state: "done" });
  expect(await journal.listDeliveries({ limit: 1 })).toMatchObject([{ state: "sent" }]);
  await journal.close();
  await proxy.close();
});

/** Waits as the dispatcher does. */
function untilAvailable<Result>(call: () => Promise<Result>): Promise<Result> {
  return retryWhileUnavailable(call, { log: silentLog, signal: new AbortController().signal });
}
