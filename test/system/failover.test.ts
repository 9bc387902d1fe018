/** The short form of `npm run faults -- --store postgres --pgbouncer`. */
import { expect, test } from "vitest";
import { runNodesCampaign } from "../faults/campaign/nodes.ts";

test("behind PgBouncer: answers to commits are lost, and a synchronous standby is cut off, promoted and replaced", async () => {
  const report = await runNodesCampaign({
    hooksBetween: 20,
    faults: ["commit", "standby"],
    cuts: 30,
    seed: 1,
    pauseMs: 2000,
    hasStandby: true,
    hasPgBouncer: true,
    hasLeaseUrl: true,
  });
  const { lost, duplicated, outOfOrder, turnsAgain, messagesAgain } = report;
  const again = { turnsAgain: {}, messagesAgain: {} };
  expect({ lost, duplicated, outOfOrder, turnsAgain, messagesAgain }).toEqual({
    lost: 0,
    duplicated: 0,
    outOfOrder: 0,
    ...again,
  });
});

test.each([
  ["a small pool, past which leases are renewed", { poolSize: 8, hasLeaseUrl: true }],
  ["a pool with a connection for each that a node may use", { poolSize: 22 }],
])("behind PgBouncer with %s: a lock on the runs ends no lease, and no work is repeated", async (_, pool) => {
  const report = await runNodesCampaign({
    hooksBetween: 20,
    faults: ["lock"],
    seed: 1,
    pauseMs: 2000,
    commitTimeout: "60s",
    hasPgBouncer: true,
    ...pool,
  });
  const { lost, duplicated, outOfOrder, turnsAgain, messagesAgain, lapses } = report;
  const none = { lost: 0, duplicated: 0, outOfOrder: 0, turnsAgain: {}, messagesAgain: {}, lapses: {} };
  expect({ lost, duplicated, outOfOrder, turnsAgain, messagesAgain, lapses }).toEqual(none);
});
