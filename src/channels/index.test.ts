import { expect, test } from "vitest";
import { CHANNEL_NAMES } from "../types.ts";
import { createChannels } from "./index.ts";

test("opens the channels that are configured, and no others", async () => {
  expect([...(await createChannels({})).keys()]).toEqual([]);
  const channels = await createChannels({
    whatsapp: { token: "a", phoneNumberId: "1" },
    signal: {},
    telegram: { token: "1:a" },
    discord: { token: "a" },
    slack: { token: "xoxb-1" },
    mattermost: { token: "a", baseUrl: "https://chat.test" },
    imessage: {},
    msteams: { appId: "1", appPassword: "a" },
  });
  expect([...channels.keys()]).toEqual(CHANNEL_NAMES);
  for (const [name, driver] of channels) expect(driver.name).toBe(name);
});
