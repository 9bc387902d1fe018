import { describe, expect, test } from "vitest";
import { createDiscord } from "../../vendors/discord/channel.ts";
import { createMattermost } from "../../vendors/mattermost/channel.ts";
import { createMsteams } from "../../vendors/msteams/channel.ts";
import { createSlack } from "../../vendors/slack/channel.ts";
import { createTelegram } from "../../vendors/telegram/channel.ts";
import { splitIntoParts } from "./parts.ts";

const CHANNELS = [
  createDiscord({ token: "t" }),
  createMattermost({ token: "t", baseUrl: "https://x.test" }),
  createMsteams({ appId: "a", appPassword: "p" }),
  createSlack({ token: "t" }),
  createTelegram({ token: "t" }),
].map((channel) => [channel.name, channel] as const);

/** A service shows more characters of it than it has. */
const LONG = Array.from(
  { length: 120 },
  (_, n) => `${n}. **Word${n}** <T> & "quotes" _and_ [a link](https://x.test/${n}) with \`code\``,
).join("\n");

describe.each(CHANNELS)("%s", (_, channel) => {
  test("shows each part whole, and all words of a reply", async () => {
    const { parts, isCut } = await splitIntoParts(LONG, channel, "markdown");
    expect(isCut).toBe(false);
    for (const part of parts) expect(await channel.measureMarkdown?.(part)).toBeLessThanOrEqual(channel.limit);
    expect(parts.join("\n").match(/Word\d+/g)).toEqual(LONG.match(/Word\d+/g));
  });
});

const small = { limit: 120 };

test("each part has the addresses that its links name", async () => {
  const text = `${"See [a][1]. ".repeat(12)}\n\nAnd [b].\n\n[1]: /u\n[b]: /v`;
  const { parts } = await splitIntoParts(text, small, "markdown");
  expect(parts.length).toBeGreaterThan(1);
  for (const part of parts) expect(part.includes("[1]: /u")).toBe(part.includes("[a][1]"));
  expect((await splitIntoParts(text, small)).parts[0]).not.toContain("[1]: /u");
});

test("a text of many addresses ends", async () => {
  const text = `${"[a][1] ".repeat(900)}\n\n[1]: https://e.test/${"x".repeat(900)}`;
  for (const [, channel] of CHANNELS) {
    const { parts } = await splitIntoParts(text, channel, "markdown");
    for (const part of parts) expect(await channel.measureMarkdown?.(part)).toBeLessThanOrEqual(channel.limit);
  }
});
