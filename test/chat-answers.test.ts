/** Answers to questions by messages in Slack, Telegram and on GitHub, signed as their services sign. */
import { createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { UserConfig } from "../src/config/schema/generated.ts";
import { waitFor } from "./support/client.ts";
import { type GithubServer, startGithub } from "./support/github-server.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { type Service, startService } from "./support/service.ts";
import { type SlackServer, startSlack } from "./support/slack.ts";
import { startTelegram, type TelegramEmulator } from "./support/telegram.ts";
import { startToolServer, type ToolServer } from "./support/tool-server.ts";

let models: ModelServer;
let tickets: ToolServer;
let slack: SlackServer;
let telegram: TelegramEmulator;
let github: GithubServer;
let service: Service;

const SECRET = "secret-of-the-sender-0123456789";
const REPLY = "The disk of db-7 is full.";

beforeEach(async () => {
  [models, tickets, slack, telegram, github] = await Promise.all([
    startModels(),
    startToolServer(() => "db-7: disk full"),
    startSlack(),
    startTelegram(),
    startGithub(),
  ]);
  models.reply(REPLY);
});
afterEach(async () => {
  await service.close();
  await Promise.all([models.close(), tickets.close(), slack.close(), telegram.close(), github.close()]);
});

type Approvals = NonNullable<NonNullable<UserConfig["agents"]>["approvals"]>;

/** A service whose reply, made from a private ticket, is to go to a place that others can see. */
async function start(approvals: Approvals): Promise<void> {
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
        presets: ["slack", "telegram", "github"].map((use) => ({ use, with: { secret: SECRET, deliver: false } })),
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
    async () => (await readMessages()).find((text) => text.includes("approve")),
    "a question",
  );
  // Answers count once the journal knows that the question was sent.
  await waitFor(async () => {
    const { deliveries } = await service.api(`/api/events/${body.eventId}`);
    return deliveries.some(({ state }: { state: string }) => state === "sent");
  });
  return /approve (\w{4})/.exec(question)?.[1] ?? "";
}

interface Posted {
  status: number;
  reason: string | undefined;
}

async function post(
  hook: string,
  payload: object,
  toHeaders: (body: string) => Record<string, string>,
): Promise<Posted> {
  const body = JSON.stringify(payload);
  const headers = { "content-type": "application/json", ...toHeaders(body) };
  const response = await fetch(`${service.url}/hooks/${hook}`, { method: "POST", headers, body });
  const { events } = await service.api(`/api/events?hook=${hook}&limit=1`);
  return { status: response.status, reason: events[0]?.reason };
}

function hmac(text: string, secret = SECRET): string {
  return createHmac("sha256", secret).update(text).digest("hex");
}

let sent = 0;

function sayInSlack(event: object, { secret = SECRET, at = Date.now() } = {}): Promise<Posted> {
  const ts = `${Math.floor(at / 1000)}.${500_000 + (sent += 1)}`;
  const message = {
    type: "message",
    channel: slack.channel,
    channel_type: "channel",
    user: "U0ANN",
    team: "T0ACME",
    ts,
  };
  const payload = {
    type: "event_callback",
    team_id: "T0ACME",
    event_id: `Ev${sent}`,
    event: { ...message, event_ts: ts, ...event },
  };
  return post("slack", payload, (body) => {
    const time = String(Math.floor(Date.now() / 1000));
    return { "x-slack-request-timestamp": time, "x-slack-signature": `v0=${hmac(`v0:${time}:${body}`, secret)}` };
  });
}

function sayInTelegram(message: object, { secret = SECRET } = {}): Promise<Posted> {
  const about = {
    message_id: (sent += 1),
    from: { id: 222, is_bot: false },
    chat: { id: Number(telegram.chat), type: "group" },
  };
  const payload = { update_id: sent, message: { ...about, date: Math.floor(Date.now() / 1000), ...message } };
  return post("telegram", payload, () => ({ "x-telegram-bot-api-secret-token": secret }));
}

function sayOnGithub(comment: object, { secret = SECRET, sender = {} } = {}): Promise<Posted> {
  const [repository = "", number = ""] = github.issue.split("#");
  const ann = { login: "ann", id: 11, type: "User", ...sender };
  const now = new Date().toISOString();
  const written = {
    id: (sent += 1),
    user: ann,
    html_url: `https://github.com/c/${sent}`,
    created_at: now,
    updated_at: now,
    ...comment,
  };
  const issue = { number: Number(number), title: "Questions" };
  const payload = { action: "created", issue, comment: written, repository: { full_name: repository }, sender: ann };
  return post("github", payload, (body) => ({
    "x-github-event": "issue_comment",
    "x-github-delivery": `d${sent}`,
    "x-hub-signature-256": `sha256=${hmac(body, secret)}`,
  }));
}

async function replies(): Promise<string[]> {
  return (await slack.messages()).filter((text) => text === REPLY);
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
    await start(where());
    const code = await ask(slack.messages);
    expect(await replies()).toEqual([]);
    expect(await sayInSlack({ text: `approve ${code}` })).toEqual({ status: 204, reason: `answered ${code}` });
    await expectReply();
    expect(models.conversations()).toHaveLength(1);
  });

  test("deny with a reason drops it", async () => {
    await start(where());
    const code = await ask(slack.messages);
    const answer = await sayInSlack({ text: `deny ${code} because it names a host` });
    expect(answer.reason).toBe(`answered ${code}`);
    await expectNothing();
  });

  test("an answer in the thread of the question counts", async () => {
    await start(where());
    const code = await ask(slack.messages);
    const history = await slack.messages();
    const index = history.findIndex((text) => text.includes(`approve ${code}`));
    const ts = await findTimestamp(index);
    expect((await sayInSlack({ text: `approve ${code}`, thread_ts: ts })).reason).toBe(`answered ${code}`);
    await expectReply();
  });

  test.each([
    ["of another person", { user: "U0EVE" }],
    ["of the same id in another workspace", { team: "T0EVIL" }],
    ["in another channel", { channel: "C0OTHER" }],
    ["in another thread", { thread_ts: "1700000000.000001" }],
    ["of a bot", { bot_id: "B0ANN" }],
    ["that is an edit", { edited: { user: "U0ANN", ts: "1" } }],
    ["that was shared", { attachments: [{ is_share: true }] }],
    ["from before the question", { ts: "1700000000.000100" }],
  ])("an answer %s changes nothing", async (_, event) => {
    await start(where());
    const code = await ask(slack.messages);
    expect((await sayInSlack({ text: `approve ${code}`, ...event })).reason ?? "").not.toContain("answered");
    await expectNothing();
  });

  test.each(["approve 2222", "approve", "approve CODE and 2222", "> approve CODE", "approve CODE\u200B"])(
    "%j changes nothing",
    async (text) => {
      await start(where());
      const code = await ask(slack.messages);
      const answer = await sayInSlack({ text: text.replace("CODE", code) });
      expect(answer.reason ?? "").not.toContain("answered");
      await expectNothing();
    },
  );

  test("a forged answer is refused", async () => {
    await start(where());
    const code = await ask(slack.messages);
    expect((await sayInSlack({ text: `approve ${code}` }, { secret: "secret-of-somebody-else-0123" })).status).toBe(
      401,
    );
    const asToken = await service.post("slack", {
      type: "event_callback",
      event: { type: "message", text: `approve ${code}` },
    });
    expect(asToken.status).toBeGreaterThanOrEqual(400);
    await expectNothing();
  });

  test("the first answer counts, later and repeated ones change nothing", async () => {
    await start({ ...where(), by: [...BY.by, "slack:T0ACME/U0BEN"] });
    const code = await ask(slack.messages);
    await sayInSlack({ text: `deny ${code}` });
    const late = await sayInSlack({ text: `approve ${code}`, user: "U0BEN" });
    expect(late.reason).toBe(`answered ${code}, which was decided before`);
    await expectNothing();
  });

  test("a question that ends before the answer is denied", async () => {
    await start({ ...where(), expires: "1s" });
    const code = await ask(slack.messages);
    const end = Date.now() + 1000;
    await waitFor(() => Date.now() > end, "the end");
    expect((await sayInSlack({ text: `approve ${code}` })).reason).not.toBe(`answered ${code}`);
    await expectNothing();
  });

  test("what does not fit into a message is not answered by one", async () => {
    await start(where());
    models.reply("x".repeat(5000));
    const { body } = await service.post("status", { text: "How is db-7?" });
    const question = await waitFor(async () => (await slack.messages()).find((text) => text.includes("does not fit")));
    const code = /Approval (\w{4})/.exec(question)?.[1];
    await waitFor(async () => (await service.api(`/api/events/${body.eventId}`)).deliveries[0]?.state === "sent");
    expect((await sayInSlack({ text: `approve ${code}` })).reason ?? "").not.toContain("answered");
    expect((await slack.messages()).some((text) => text.startsWith("xxx"))).toBe(false);
  });

  test("without people in by, nobody answers by a message", async () => {
    await start({ ...where(), by: [] });
    const code = await ask(slack.messages);
    expect((await sayInSlack({ text: `approve ${code}` })).reason).toBeUndefined();
    await expectNothing();
  });
});

test("in Telegram", async () => {
  await start({ channel: "telegram", to: telegram.chat, ...BY });
  const code = await ask(telegram.messages);
  const text = `approve ${code}`;
  expect((await sayInTelegram({ text }, { secret: "another-secret" })).status).toBe(401);
  for (const wrong of [{ from: { id: 223, is_bot: false } }, { forward_origin: {} }, { chat: { id: 5 } }, { date: 1 }])
    expect((await sayInTelegram({ text, ...wrong })).reason ?? "").not.toContain("answered");
  expect(await replies()).toEqual([]);
  expect((await sayInTelegram({ text })).reason).toBe(`answered ${code}`);
  await expectReply();
});

test("on GitHub", async () => {
  await start({ channel: "github", to: github.issue, ...BY });
  const code = await ask(github.comments);
  const body = `approve ${code}`;
  expect((await sayOnGithub({ body }, { secret: "another-secret" })).status).toBe(401);
  for (const sender of [{ id: 12 }, { type: "Bot" }, { login: "ann[bot]" }])
    expect((await sayOnGithub({ body }, { sender })).reason ?? "").not.toContain("answered");
  for (const wrong of [
    { updated_at: "2030-01-01T00:00:00Z" },
    { performed_via_github_app: {} },
    { created_at: "2020-01-01T00:00:00Z", updated_at: "2020-01-01T00:00:00Z" },
  ])
    expect((await sayOnGithub({ body, ...wrong })).reason ?? "").not.toContain("answered");
  expect(await replies()).toEqual([]);
  expect((await sayOnGithub({ body })).reason).toBe(`answered ${code}`);
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
  const index = (await slack.messages()).indexOf(`approve ${code}`);
  const ts = await findTimestamp(index);
  const answer = await sayInSlack({ text: `approve ${code}`, ts });
  expect(answer.reason ?? "").not.toContain("answered");
  await expectNothing();
});

async function findTimestamp(index: number): Promise<string> {
  const response = await fetch(`${slack.baseUrl}conversations.history`, {
    method: "POST",
    headers: { authorization: `Bearer ${slack.token}` },
    body: new URLSearchParams({ channel: slack.channel, limit: "999" }),
  });
  const { messages }: { messages: { ts: string }[] } = JSON.parse(await response.text());
  return messages.toReversed()[index]?.ts ?? "";
}
