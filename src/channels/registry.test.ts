import { expect, test } from "vitest";
import { createChannels } from "./registry.ts";

test("opens the channels that are configured, and no others", () => {
  expect([...createChannels({}).keys()]).toEqual([]);
  const channels = createChannels({
    telegram: { token: "1:a" },
    discord: { token: "a" },
    slack: { token: "xoxb-1" },
    mattermost: { token: "a", baseUrl: "https://chat.test" },
  });
  expect([...channels.keys()]).toEqual(["telegram", "discord", "slack", "mattermost"]);
  for (const [name, driver] of channels) expect(driver.name).toBe(name);
});
