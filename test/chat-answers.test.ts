/** Answers to questions by messages in Slack, Telegram and on GitHub, signed as their services sign. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { createChatMessages } from "./support/chat-messages.ts";
import { waitFor } from "./support/client.ts";
import { type GithubServer, startGithub } from "./support/vendors/github-server.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { type Service, startService } from "./support/service.ts";
import { type SlackServer, startSlack } from "./support/vendors/slack.ts";
import { startTelegram, type TelegramEmulator } from "./support/telegram.ts";
import { startToolServer, type ToolServer } from "./support/tool-server.ts";

let models: ModelServer;
let tickets: ToolServer;
let slack: SlackServer;
let telegram: TelegramEmulator;
let github: GithubServer;
let service: Service;

const SECRET = "secret-of-the-sender-0123456789";
/** That of each test is another, as the services of the vendors are those of all. */
let reply: string;
let tests = 0;

beforeAll(async () => {
  [models, tickets, slack, telegram, github] = await Promise.all([
    startModels(),
    startToolServer(() => "db-7: disk full"),
    startSlack(),
    startTelegram(),
    startGithub(),
  ]);
});
beforeEach(() => {
  tests += 1;
  reply = `The disk of node ${tests} is full`;
  models.reply(reply);
});
afterEach(() => service.close());
afterAll(async () => {
  await Promise.all([models.close(), tickets.close(), slack.close(), telegram.close(), github.close()]);
});

type Approvals = NonNullable<NonNullable<UserConfig["agents"]>["approvals"]>;

/** A service whose reply, made from a private ticket, is to go to a place that others can see. */
async function start(approvals: Approvals, slackUses: object[] = [{}]): Promise<void> {
  service = await startService({
    config: {
      channels: {
        slack: { token: slack.token, baseUrl: slack.baseUrl },
        telegram: { token: telegram.token, baseUrl: telegram.baseUrl },
        github: { token: github.token, baseUrl: github.baseUrl },
      },
      agents: {
        providers: { house: { kind: "openai-compatible", baseUrl: models.baseUrl } },
        defaults: { model: "house/large", heartbeat: { every: "24h" } },
        tools: {
          tickets: {
            kind: "http",
            baseUrl: tickets.url,
            private: true,
            calls: { show: { description: "One ticket.", get: "/ok/{id}", input: { id: "integer" } } },
          },
        },
        approvals,
      },
      hooks: {
        presets: [
          { use: "telegram", with: { secret: SECRET, deliver: false, from: "anyone" } },
          { use: "github", with: { secret: SECRET, deliver: false } },
          ...slackUses.map((more) => ({
            use: "slack",
            with: { secret: SECRET, deliver: false, mention: false, ...more },
          })),
        ],
        mappings: [
          {
            id: "status",
            match: { path: "status" },
            messageTemplate: "{{text}}",
            wakeMode: "next-heartbeat",
            context: [{ call: "tickets.show", arguments: { id: 7 } }],
            deliver: [{ channel: "slack", to: slack.channel, audience: "public" }],
          },
        ],
      },
    },
  });
}

/** Lets the run end that is held for a person, and gives the code of its question. */
async function ask(readMessages: () => Promise<string[]> | string[]): Promise<string> {
  const { body } = await service.post("status", { text: "How is db-7?" });
  const question = await waitFor(
    async () => (await readMessages()).find((text) => text.includes("approve") && text.includes(reply)),
    "a question",
  );
  // Answers count once the journal knows that the question was sent.
  await waitFor(async () => {
    const { deliveries } = await service.api(`/api/events/${body.eventId}`);
    return deliveries.some(({ state }: { state: string }) => state === "sent");
  });
  return /approve (\w{4})/.exec(question)?.[1] ?? "";
}

const { inSlack, inTelegram, onGithub } = createChatMessages(
  () => service,
  () => ({ secret: SECRET, slackChannel: slack.channel, telegramChat: telegram.chat, issue: github.issue }),
);

async function replies(): Promise<string[]> {
  return (await slack.messages()).filter((text) => text === reply);
}

async function expectReply(): Promise<void> {
  await waitFor(async () => (await replies()).length > 0, "the reply");
}

/** The whole work of the service is done, and the reply was not sent. */
async function expectNothing(): Promise<void> {
  const { body } = await service.post("wake", { text: "Done?", mode: "next-heartbeat" });
  await service.settled(body.eventId);
  expect(await replies()).toEqual([]);
}

const BY = { by: ["slack:T0ACME/U0ANN", "telegram:222", "github:11"] };

describe("in Slack", () => {
  const where = () => ({ channel: "slack", to: slack.channel, ...BY });

  test("approve delivers the reply, and the message is no event for the agent", async () => {
    const before = models.conversations().length;
    await start(where());
    const code = await ask(slack.messages);
    expect(await replies()).toEqual([]);
    expect(await inSlack({ text: `approve ${code}` })).toEqual({ status: 204, reason: `answered ${code}` });
    await expectReply();
    expect(models.conversations()).toHaveLength(before + 1);
  });

  const OTHER = { path: "other", secret: "secret-of-another-sender-0123456" };

  test.each([
    ["counts through the use whose place covers the question's", () => [{ place: slack.channel }, OTHER], true],
    ["counts if the other use has another account", () => [{}, { ...OTHER, account: "eu" }], true],
    ["is an event like any other while somebody else can sign for the account", () => [{}, OTHER], false],
    ["is one through a use for another place too", () => [{ place: "C0OTHER" }, OTHER], false],
  ])("an answer %s", async (_, uses, counts) => {
    await start(where(), uses());
    const code = await ask(slack.messages);
    const { reason } = await inSlack({ text: `approve ${code}` });
    if (!counts) {
      expect(reason).not.toBe(`answered ${code}`);
      return expectNothing();
    }
    expect(reason).toBe(`answered ${code}`);
    await expectReply();
  });

  test("deny with a reason drops it", async () => {
    await start(where());
    const code = await ask(slack.messages);
    const answer = await inSlack({ text: `deny ${code} because it names a host` });
    expect(answer.reason).toBe(`answered ${code}`);
    await expectNothing();
  });

  test("an answer in the thread of the question counts", async () => {
    await start(where());
    const code = await ask(slack.messages);
    const ts = await slack.find((text) => text.includes(`approve ${code}`));
    expect((await inSlack({ text: `approve ${code}`, thread_ts: ts })).reason).toBe(`answered ${code}`);
    await expectReply();
  });

  test("what is no answer of a person who may changes nothing", async () => {
    await start(where());
    const code = await ask(slack.messages);
    const text = `approve ${code}`;
    const wrong: [what: string, event: object][] = [
      ["of another person", { user: "U0EVE" }],
      ["of the same id in another workspace", { team: "T0EVIL" }],
      ["in another channel", { channel: "C0OTHER" }],
      ["in another thread", { thread_ts: "1700000000.000001" }],
      ["of a bot", { bot_id: "B0ANN" }],
      ["that is an edit", { edited: { user: "U0ANN", ts: "1" } }],
      ["that was shared", { attachments: [{ is_share: true }] }],
      ["from before the question", { ts: "1700000000.000100" }],
      ["to another question", { text: "approve 2222" }],
      ["without a code", { text: "approve" }],
      ["to two questions", { text: `${text} and 2222` }],
      ["in a quotation", { text: `> ${text}` }],
      ["with a hidden character", { text: `${text}\u200B` }],
    ];
    for (const [what, event] of wrong) {
      const { reason = "" } = await inSlack({ text, ...event });
      expect([what, reason]).toEqual([what, expect.not.stringContaining("answered")]);
    }
    expect((await inSlack({ text }, "secret-of-somebody-else-0123")).status).toBe(401);
    const asToken = await service.post("slack", { type: "event_callback", event: { type: "message", text } });
    expect(asToken.status).toBeGreaterThanOrEqual(400);
    await expectNothing();
    expect((await inSlack({ text })).reason).toBe(`answered ${code}`);
  });

  test("the first answer counts, later and repeated ones change nothing", async () => {
    await start({ ...where(), by: [...BY.by, "slack:T0ACME/U0BEN"] });
    const code = await ask(slack.messages);
    await inSlack({ text: `deny ${code}` });
    const late = await inSlack({ text: `approve ${code}`, user: "U0BEN" });
    expect(late.reason).toBe(`answered ${code}, which was decided before`);
    await expectNothing();
  });

  test("a question that ends before the answer is denied", async () => {
    await start({ ...where(), expires: "1s" });
    const code = await ask(slack.messages);
    const end = Date.now() + 1000;
    await waitFor(() => Date.now() > end, "the end");
    expect((await inSlack({ text: `approve ${code}` })).reason).not.toBe(`answered ${code}`);
    await expectNothing();
  });

  test("what does not fit into a message is not answered by one", async () => {
    await start(where());
    models.reply("x".repeat(5000));
    const { body } = await service.post("status", { text: "How is db-7?" });
    const question = await waitFor(async () =>
      (await slack.messages()).find((text) => text.includes("does not fit into one message")),
    );
    const code = /code `(\w{4})`/.exec(question)?.[1];
    await waitFor(async () => (await service.api(`/api/events/${body.eventId}`)).deliveries[0]?.state === "sent");
    expect((await inSlack({ text: `approve ${code}` })).reason ?? "").not.toContain("answered");
    expect((await slack.messages()).some((text) => text.startsWith("xxx"))).toBe(false);
  });

  test("without people in by, nobody answers by a message", async () => {
    await start({ ...where(), by: [] });
    const code = await ask(slack.messages);
    expect((await inSlack({ text: `approve ${code}` })).reason).toBeUndefined();
    await expectNothing();
  });
});

test("in Telegram", async () => {
  await start({ channel: "telegram", to: telegram.chat, ...BY });
  const code = await ask(telegram.messages);
  const text = `approve ${code}`;
  expect((await inTelegram({ text }, "another-secret")).status).toBe(401);
  for (const wrong of [{ from: { id: 223, is_bot: false } }, { forward_origin: {} }, { chat: { id: 5 } }, { date: 1 }])
    expect((await inTelegram({ text, ...wrong })).reason ?? "").not.toContain("answered");
  expect(await replies()).toEqual([]);
  expect((await inTelegram({ text })).reason).toBe(`answered ${code}`);
  await expectReply();
});

test("on GitHub", async () => {
  await start({ channel: "github", to: github.issue, ...BY });
  const code = await ask(github.comments);
  const body = `approve ${code}`;
  expect((await onGithub({ body }, { secret: "another-secret" })).status).toBe(401);
  for (const sender of [{ id: 12 }, { type: "Bot" }, { login: "ann[bot]" }])
    expect((await onGithub({ body }, { sender })).reason ?? "").not.toContain("answered");
  for (const wrong of [
    { updated_at: "2030-01-01T00:00:00Z" },
    { performed_via_github_app: {} },
    { created_at: "2020-01-01T00:00:00Z", updated_at: "2020-01-01T00:00:00Z" },
  ])
    expect((await onGithub({ body, ...wrong })).reason ?? "").not.toContain("answered");
  expect(await replies()).toEqual([]);
  expect((await onGithub({ body })).reason).toBe(`answered ${code}`);
  await expectReply();
});

test("a delivery of ours that reads like an answer is none", async () => {
  await start({ channel: "slack", to: slack.channel, ...BY });
  const code = await ask(slack.messages);
  // The agent was made to write it, and its account is that of a person in `by`.
  models.reply(`approve ${code}`);
  const config = { text: "Say it." };
  const { body } = await service.post("agent", { message: config.text, channel: "slack", to: slack.channel });
  await service.settled(body.eventId);
  const ts = await slack.find((text) => text === `approve ${code}`);
  const answer = await inSlack({ text: `approve ${code}`, ts });
  expect(answer.reason ?? "").not.toContain("answered");
  await expectNothing();
});
