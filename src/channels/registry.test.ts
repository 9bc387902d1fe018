import { expect, test } from "vitest";
import { createChannels } from "./registry.ts";

test("opens the channels that are configured, and no others", () => {
  expect([...createChannels({}).keys()]).toEqual([]);
  const channels = createChannels({ slack: { token: "xoxb-1" } });
  expect([...channels.keys()]).toEqual(["slack"]);
  expect(channels.get("slack")?.name).toBe("slack");
});
