/** `kill -9` while events are delivered. The long form: `npm run faults -- --subscriptions 10000 --kills 50`. */
import { expect, test } from "vitest";
import { runSubscriptionsCampaign } from "./campaign/subscriptions.ts";

test("each subscriber gets each event, no cursor is ahead, and a poll gives what was committed", async () => {
  // The time is that between attempts: after four failures it is 15 seconds.
  const report = await runSubscriptionsCampaign({ events: 60, kills: 1, seed: 1, failing: 1 / 20 });
  expect(report).toMatchObject({ events: 60, lost: 0, ahead: 0, wrongPolls: 0 });
  expect(report.deliveries).toBeGreaterThan(180);
});
