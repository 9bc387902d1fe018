/** The short form of `npm run faults -- --store postgres`. */
import { expect, test } from "vitest";
import { runNodesCampaign } from "./campaign/nodes.ts";

test("nodes stop one after another, connections break and the database crashes: nothing is lost, twice or out of order", async () => {
  const report = await runNodesCampaign({ hooks: 120, faults: ["stop", "cut", "immediate"], seed: 1, awayMs: 0 });
  expect(report).toMatchObject({ lost: 0, duplicated: 0, outOfOrder: 0 });
  // A balancer that tries the next node is refused nothing while nodes are replaced.
  expect(report.refused.stop).toBeUndefined();
});
