/** Rows that a primary shows after a crash, and loses with its failover, are not taken for committed. */
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { retryWhileUnavailable } from "../../src/core/dispatch/retry.ts";
import { createPostgresJournal, type PostgresJournal } from "../../src/stores/postgres/postgres.ts";
import { silentLog } from "../../src/core/telemetry/log.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import {
  NOW,
  sampleDelivery,
  sampleEvent,
  sampleOutcome,
  sampleRun,
  sampleWake,
} from "../contracts/journal/samples.ts";
import { type PostgresPair, startPostgresPair } from "../support/postgres-pair.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

let pair: PostgresPair;
let proxy: TcpProxy;
let journal: PostgresJournal;

beforeAll(async () => {
  pair = await startPostgresPair();
  const url = new URL(await pair.createUrl());
  proxy = await startTcpProxy(pair.primary().port);
  url.port = String(proxy.port);
  journal = await createPostgresJournal({
    url: url.href,
    maxConnections: 10,
    commitTimeoutMs: 50,
    telemetry: silentTelemetry,
    firstLeaseMs: 3_600_000,
    pollMs: 3_600_000,
  });
});

afterAll(async () => {
  await journal.close();
  await proxy.close();
  await pair.remove();
});

test("the end of a run and of a delivery, and a system event", async () => {
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
  await expect.poll(countWaiting).toBe(3);
  await pair.primary().stop("immediate");
  const outcomes = await interrupted;
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  await pair.primary().start();

  const repeated = [...commits, () => journal.isClaimed(running!)].map((call) => untilAvailable(call));
  const pending = untilAvailable(() => journal.pendingSystemEvents(10));
  await expect.poll(countWaiting).toBe(4);
  await pair.promote();
  proxy.setTarget(pair.primary().port);
  expect(await Promise.all(repeated)).toEqual([true, true, expect.any(Boolean)]);
  expect(await pending).toEqual([]);
  expect(await journal.getRun(running!.id)).toMatchObject({ state: "done" });
  expect(await journal.listDeliveries({ limit: 1 })).toMatchObject([{ state: "sent" }]);
});

/** Waits as the dispatcher does. */
function untilAvailable<Result>(call: () => Promise<Result>): Promise<Result> {
  return retryWhileUnavailable(call, { log: silentLog, signal: new AbortController().signal });
}

/** Commits that wait for the standby. */
async function countWaiting(): Promise<number> {
  const client = new Client(`postgres://postgres:secret@127.0.0.1:${pair.primary().port}/postgres`);
  await client.connect();
  try {
    return (await client.query("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")).rowCount ?? 0;
  } finally {
    await client.end();
  }
}
