/** The short form of `npm run faults`. */
import { expect, test } from "vitest";
import { runCampaign } from "./campaign/campaign.ts";

test("kill -9 under load, again and again: each hook that was answered happens once, in order", async () => {
  const report = await runCampaign({ hooks: 240, kills: 5, signal: "SIGKILL", seed: 1 });
  expect(report).toMatchObject({ lost: 0, duplicated: 0, outOfOrder: 0 });
});

test("SIGTERM under load, again and again: and no turn runs twice, no message is sent twice", async () => {
  const report = await runCampaign({ hooks: 120, kills: 2, signal: "SIGTERM", seed: 1 });
  const again = { turnsAgain: 0, messagesAgain: 0 };
  expect(report).toMatchObject({ lost: 0, duplicated: 0, outOfOrder: 0, ...again });
});
