/** The short form of `npm run faults`. */
import { expect, test } from "vitest";
import { runCampaign } from "./campaign/campaign.ts";

test("repeated kill -9 under load: each answered hook is executed once, in order", async () => {
  const report = await runCampaign({ hooks: 80, kills: 2, signal: "SIGKILL", seed: 1 });
  expect(report).toMatchObject({ lost: 0, duplicated: 0, outOfOrder: 0 });
});

test("repeated SIGTERM under load: no turn runs twice, no message is sent twice", async () => {
  const report = await runCampaign({ hooks: 40, kills: 1, signal: "SIGTERM", seed: 1 });
  const again = { turnsAgain: 0, messagesAgain: 0 };
  expect(report).toMatchObject({ lost: 0, duplicated: 0, outOfOrder: 0, ...again });
});
