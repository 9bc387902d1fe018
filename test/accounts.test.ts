/** Several accounts of one channel: each block's key is the name of a channel. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { checkConfig } from "../src/service/drivers.ts";
import { ConfigError, type ConfigProblem } from "../src/core/errors.ts";
import { type MattermostServer, startMattermost } from "./support/mattermost.ts";
import { type Service, startService } from "./support/service.ts";

let eu: MattermostServer;
let us: MattermostServer;
let service: Service;

beforeEach(async () => {
  [eu, us] = await Promise.all([startMattermost(), startMattermost()]);
  service = await startService({ config: toConfig() });
});
afterEach(async () => {
  await service.close();
  await Promise.all([eu.close(), us.close()]);
});

function toConfig(): UserConfig {
  const mapping = { agent: "none", messageTemplate: "{{text}}" } as const;
  return {
    channels: {
      "mattermost:eu": { kind: "mattermost", token: eu.token, baseUrl: eu.baseUrl },
      "mattermost:us": { token: us.token, baseUrl: us.baseUrl, allow: [us.channel] },
    },
    hooks: {
      mappings: [
        { ...mapping, match: { path: "static" }, channel: "mattermost:eu", to: eu.channel },
        { ...mapping, match: { path: "chosen" }, channel: "{{channel}}", to: "{{to}}" },
        { ...mapping, match: { path: "last" }, channel: "last" },
        {
          ...mapping,
          match: { path: "source" },
          channel: "source",
          source: { channel: "mattermost:{{account}}", to: "{{to}}" },
          echo: "{{post}}",
        },
      ],
    },
  };
}

test("a reply goes through the account that is named, and the last route is that of an account", async () => {
  await send("static", { text: "To the EU." });
  await send("chosen", { text: "To the US.", channel: "mattermost:us", to: us.channel });
  await send("last", { text: "Again." });
  expect(eu.messages()).toEqual(["To the EU.", "Again."]);
  expect(us.messages()).toEqual(["To the US."]);
});

test("allow is that of the account", async () => {
  const elsewhere = "w5nk3xgpq9t8mrzc1yb7of4ude";
  const refused = await service.post("chosen", { text: "x", channel: "mattermost:us", to: elsewhere });
  expect(refused).toMatchObject({ status: 400, body: { error: expect.stringContaining("mattermost:us") } });
});

test.each(["mattermost", "mattermost:apac", "mattermost:EU", "slack:eu"])(
  "a request that names %s is answered 400",
  async (channel) => {
    expect(await service.post("chosen", { text: "x", channel, to: eu.channel })).toMatchObject({ status: 400 });
  },
);

test("a message is the echo of its own account only", async () => {
  await send("source", { text: "Hello.", account: "eu", to: eu.channel });
  const [id] = eu.ids();
  const echo = (account: string, to: string) => service.post("source", { text: "x", account, to, post: id });
  expect((await echo("eu", eu.channel)).status).toBe(204);
  expect((await echo("us", us.channel)).status).toBe(202);
});

test("an error names the block of the account", async () => {
  const config = toConfig();
  await service.reload({
    ...config,
    channels: { ...config.channels, "mattermost:eu": { token: "wrong", baseUrl: eu.baseUrl } },
  });
  const { body } = await service.post("static", { text: "x" });
  const { deliveries } = await service.settled(body.eventId);
  expect(deliveries[0]?.error).toContain("Check channels.mattermost:eu.token.");
});

test.each<[UserConfig["channels"], string]>([
  [{ "slack:eu": { kind: "discord", token: "t" } }, 'channels.slack:eu.kind: This value must be "slack"'],
  [{ "slack:EU": { token: "t" } }, "channels.slack:EU: "],
  [{ "slack:": { token: "t" } }, "channels.slack:: "],
  [{ "slack:eu:west": { token: "t" } }, "channels.slack:eu:west: "],
  [{ [`slack:${"a".repeat(25)}`]: { token: "t" } }, "channels.slack:aaa"],
  [{ "slak:eu": { token: "t" } }, 'The key "slak:eu" is unknown'],
])("%j is a problem", async (channels, expected) => {
  await expect(checkConfig({ channels }, { baseDir: "/", env: {} }).then(throwProblems)).rejects.toThrow(expected);
});

function throwProblems({ problems }: { problems: ConfigProblem[] }): never {
  throw new ConfigError(problems);
}

test("a channel without a block of its own is a problem that lists its accounts", async () => {
  const { problems } = await checkConfig(
    {
      channels: { "slack:eu": { token: "t" }, "slack:us": { token: "t" } },
      hooks: { mappings: [{ match: { path: "a" }, messageTemplate: "x", channel: "slack", to: "C1" }] },
    },
    { baseDir: "/", env: {} },
  );
  expect(problems.map(({ message }) => message)).toEqual([
    'The channel "slack" is not configured, but these are: slack:eu, slack:us. Name one of them.',
  ]);
});

test("a preset answers at the source through the account that it is given", async () => {
  const channels = { "slack:eu": { token: "t" } };
  const check = async (values: object) =>
    checkConfig(
      {
        channels,
        hooks: { presets: [{ use: "slack", with: { secret: "s".repeat(32), channel: "source", ...values } }] },
      },
      { baseDir: "/", env: {} },
    );
  expect((await check({ account: "eu" })).problems).toEqual([]);
  expect(JSON.stringify((await check({})).problems)).toContain("with: { account }");
  expect(JSON.stringify((await check({ account: "us" })).problems)).toContain("slack:us");
  expect((await check({ account: "EU" })).problems).not.toEqual([]);
});

async function send(hook: string, payload: object): Promise<void> {
  const { status, body } = await service.post(hook, payload);
  expect(status).toBe(202);
  const { deliveries } = await service.settled(body.eventId);
  expect(deliveries).toMatchObject([{ state: "sent" }]);
}
