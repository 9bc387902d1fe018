/** The short form of `npm run faults -- --store postgres --pgbouncer`. */
import { expect, test } from "vitest";
import { runNodesCampaign } from "../faults/campaign/nodes.ts";

test("behind PgBouncer: answers to commits are lost, and a synchronous standby is cut off, promoted and replaced", async () => {
  const report = await runNodesCampaign({
    hooksBetween: 20,
    faults: ["commit", "standby"],
    seed: 1,
    pauseMs: 100,
    hasStandby: true,
    hasPgBouncer: true,
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
