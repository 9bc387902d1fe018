/** The short form of `npm run faults -- --store postgres --pgbouncer`. */
import { expect, test } from "vitest";
import { runNodesCampaign } from "../faults/campaign/nodes.ts";

test("behind PgBouncer with a small pool, past which leases are renewed: the runs are locked, answers to commits are lost, and a synchronous standby is cut off, promoted and replaced", async () => {
  const report = await runNodesCampaign({
    hooksBetween: 20,
    faults: ["lock", "commit", "standby"],
    cuts: 15,
    seed: 1,
    pauseMs: 2000,
    commitTimeout: "60s",
    hasStandby: true,
    hasPgBouncer: true,
    poolSize: 8,
    hasLeaseUrl: true,
  });
  const { lost, duplicated, outOfOrder, turnsAgain, messagesAgain, lapses } = report;
  const none = { lost: 0, duplicated: 0, outOfOrder: 0, turnsAgain: {}, messagesAgain: {}, lock: undefined };
  expect({ lost, duplicated, outOfOrder, turnsAgain, messagesAgain, lock: lapses.lock }).toEqual(none);
});

test("behind PgBouncer with a connection for each that a node may use: a lock on the runs ends no lease, and no work is repeated", async () => {
  const report = await runNodesCampaign({
    hooksBetween: 20,
    faults: ["lock"],
    seed: 1,
    pauseMs: 2000,
    commitTimeout: "60s",
    isDurable: false,
    hasPgBouncer: true,
    poolSize: 22,
  });
  const { lost, duplicated, outOfOrder, turnsAgain, messagesAgain, lapses } = report;
  const none = { lost: 0, duplicated: 0, outOfOrder: 0, turnsAgain: {}, messagesAgain: {}, lapses: {} };
  expect({ lost, duplicated, outOfOrder, turnsAgain, messagesAgain, lapses }).toEqual(none);
});
