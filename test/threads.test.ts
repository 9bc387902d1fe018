/** Replies of one session are in one thread, and who writes in it reaches that session and no other. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CONTINUE_RULES } from "../src/core/mapping/item/continued.ts";
import { waitFor } from "./support/client.ts";
import { createChatMessages } from "./support/chat-messages.ts";
import { type DiscordServer, startDiscord } from "./support/discord.ts";
import { type MattermostServer, startMattermost } from "./support/mattermost.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import * as fc from "./support/property.ts";
import { type Service, startService } from "./support/service.ts";
import { type SmtpServer, startSmtp } from "./support/smtp.ts";
import { startTelegram, type TelegramEmulator } from "./support/telegram.ts";
import { type SlackServer, startSlack } from "./support/vendors/slack.ts";

const SECRET = "secret-of-the-sender-0123456789";
const OTHER_SECRET = "secret-of-the-other-workspace-01";

const FINDING = "The disk of db-7 is full.";

let models: ModelServer;
let slack: SlackServer;
let mattermost: MattermostServer;
let discord: DiscordServer;
let telegram: TelegramEmulator;
let smtp: SmtpServer;
let service: Service;

beforeAll(async () => {
  [models, slack, mattermost, discord, telegram, smtp] = await Promise.all([
    startModels(),
    startSlack(),
    startMattermost(),
    startDiscord(),
    startTelegram(),
    startSmtp(),
  ]);
  models.reply(FINDING);
  const mail = { host: smtp.host, port: smtp.port, user: smtp.user, password: smtp.password, tls: "none" as const };
  const quiet = { deliver: false, wakeMode: "next-heartbeat" };
  const eu = { account: "eu", ...quiet };
  const targets = [
    { channel: "slack", to: slack.channel },
    { channel: "mattermost", to: mattermost.channel },
    { channel: "discord", to: discord.channel },
    { channel: "telegram", to: telegram.chat },
    { channel: "email", to: `${smtp.recipient} Incident` },
  ];
  const alert = { messageTemplate: "{{text}}", agent: "none", wakeMode: "next-heartbeat" } as const;
  service = await startService({
    config: {
      agents: {
        providers: { house: { kind: "openai-compatible", baseUrl: models.baseUrl } },
        defaults: { model: "house/large", heartbeat: { channel: "slack", to: slack.channel } },
      },
      channels: {
        ...withOtherAccounts({
          slack: { token: slack.token, baseUrl: slack.baseUrl },
          mattermost: { token: mattermost.token, baseUrl: mattermost.baseUrl },
          discord: { token: discord.token, baseUrl: discord.baseUrl },
          telegram: { token: telegram.token, baseUrl: telegram.baseUrl },
          email: { ...mail, from: "agent@example.org", allow: [smtp.recipient] },
        }),
      },
      hooks: {
        allowRequestSessionKey: true,
        presets: [
          { use: "slack", with: { secret: SECRET, ...quiet } },
          { use: "slack", with: { path: "slack-eu", ...eu, secret: OTHER_SECRET, mention: false } },
          { use: "telegram", with: { secret: SECRET, from: "anyone", ...quiet } },
          { use: "telegram", with: { path: "telegram-eu", ...eu, secret: OTHER_SECRET, from: "anyone" } },
          { use: "discord", with: { path: "bridge", from: "anyone", ...quiet } },
          { use: "discord", with: { path: "bridge-eu", ...eu, from: "anyone" } },
          { use: "mattermost", with: { secret: SECRET, ...quiet } },
          { use: "mattermost", with: { path: "mattermost-eu", ...eu, secret: OTHER_SECRET } },
          { use: "mail", with: { ...quiet } },
          { use: "mail", with: { path: "mail-eu", ...eu } },
        ],
        mappings: [
          {
            ...alert,
            id: "alerts",
            match: { path: "alerts" },
            sessionKey: "{{session}}",
            deliver: targets.map((target) => ({ ...target, thread: "session" as const })),
          },
          {
            ...alert,
            id: "plain",
            match: { path: "plain" },
            sessionKey: "{{session}}",
            channel: "slack",
            to: slack.channel,
          },
          { id: "wakes", match: { path: "wakes" }, action: "wake", textTemplate: "{{text}}" },
        ],
      },
    },
  });
});
afterAll(async () => {
  await service.close();
  await Promise.all([models, slack, mattermost, discord, telegram, smtp].map((server) => server.close()));
});

/** The same accounts again, as `slack:eu`: the service must not know that both are at one place. */
function withOtherAccounts<Block>(channels: Record<string, Block>): Record<string, Block> {
  return Object.fromEntries(
    Object.entries(channels).flatMap(([name, block]) => [
      [name, block],
      [`${name}:eu`, block],
    ]),
  );
}

interface Sent {
  channel: string;
  thread?: string;
  warnings: string[];
}

/** Delivers a reply of a session everywhere, and gives where it is. */
async function report(session: string, text: string, hook = "alerts"): Promise<Map<string, Sent>> {
  const { body } = await service.post(hook, { session, text });
  const event = await service.settled(body.eventId);
  const sent = event.deliveries.map(
    ({ state, channel, route, warnings }: { state: string; channel: string; route: object; warnings: string[] }) => {
      expect(state).toBe("sent");
      return [channel, { ...route, warnings }];
    },
  );
  return new Map(sent);
}

const chat = createChatMessages(
  () => service,
  () => ({ secret: SECRET, slackChannel: slack.channel, telegramChat: telegram.chat, issue: "acme/app#1" }),
);

/** The session of the newest event of a hook; undefined: it was skipped. */
async function sessionOf(hook: string): Promise<string | undefined> {
  const [{ id, actions }] = (await service.api(`/api/events?hook=${hook}&limit=1`)).events;
  await service.settled(id);
  return actions[0]?.sessionKey;
}

let posted = 0;

interface Place {
  /** Writes a message in a thread, or below a message; "": below nothing. `account`: `-eu` for the other one. */
  write(thread: string, account?: string): Promise<string | undefined>;
  /** A thread that somebody else has opened. */
  foreign(): Promise<string>;
  /** How many threads the service has. */
  count(): Promise<number> | number;
}

const secretOf = (account: string): string => (account === "" ? SECRET : OTHER_SECRET);

async function write(hook: string, payload: object): Promise<string | undefined> {
  await service.post(hook, payload);
  return sessionOf(hook);
}

const PLACES: Record<string, Place> = {
  slack: {
    async write(thread, account = "") {
      const [channel = "", ts] = thread.split(":");
      const more = thread === "" ? { type: "app_mention" } : { channel, thread_ts: ts };
      await chat.inSlack({ text: "Why?", ...more }, secretOf(account), `slack${account}`);
      return sessionOf(`slack${account}`);
    },
    foreign: async () => `${slack.channel}:${await slack.post("A question")}`,
    count: async () => (await slack.messages()).length,
  },
  mattermost: {
    // The event does not tell the thread.
    write(thread, account = "") {
      const [, root = ""] = thread.split(":");
      const post_id = root === "" ? mattermost.root : mattermost.answer(root);
      const at = { channel_id: mattermost.channel, post_id, user_id: "ann", user_name: "ann" };
      const post = { token: secretOf(account), ...at, text: "#agent why?", trigger_word: "#agent" };
      return write(`mattermost${account}`, post);
    },
    foreign: async () => `${mattermost.channel}:${mattermost.root}`,
    count: () => mattermost.roots().filter((root) => root === undefined).length,
  },
  discord: {
    write(thread, account = "") {
      const author = { id: "1", username: "ann" };
      const id = `44438484986000${String((posted += 1)).padStart(4, "0")}`;
      const at = { id, channel_id: thread === "" ? discord.channel : thread, mentions: [] };
      return write(`bridge${account}`, { t: "MESSAGE_CREATE", d: { ...at, author, content: "Why?", type: 0 } });
    },
    foreign: async () => "555555555555555555",
    count: () => discord.threads.size,
  },
  telegram: {
    async write(thread, account = "") {
      const [, message] = thread.split(":");
      const chatOf = { id: Number(telegram.chat), type: "group" };
      const below = message && { reply_to_message: { message_id: Number(message), chat: chatOf } };
      await chat.inTelegram({ text: "Why?", ...below }, secretOf(account), `telegram${account}`);
      return sessionOf(`telegram${account}`);
    },
    foreign: async () => `${telegram.chat}:99999`,
    count: () => telegram.sent().filter((sent) => sent["reply_parameters"] === undefined).length,
  },
  email: {
    write(thread, account = "") {
      const id = thread.split(" ")[0]?.replaceAll(/[<>]/g, "");
      const mail = { id: `m${(posted += 1)}`, from: `Ada <${smtp.recipient}>`, subject: "Re: Incident", body: "Why?" };
      return write(`mail${account}`, { messages: [{ ...mail, references: id ? [id] : [] }] });
    },
    foreign: async () => "<theirs@example.com>",
    count: async () => (await smtp.mails()).filter(({ references }) => !references).length,
  },
};

describe.each(Object.entries(PLACES))("in %s", (name, place) => {
  test("each session has one thread, and a message in it belongs to the session", async () => {
    const before = await place.count();
    const [a1, b1, a2] = [
      await report(`${name}-a`, "A1"),
      await report(`${name}-b`, "B1"),
      await report(`${name}-a`, "A2"),
    ].map((sent) => sent.get(name));
    expect(a1?.thread).toEqual(expect.any(String));
    expect(a2?.thread).toBe(a1?.thread);
    expect(b1?.thread).not.toBe(a1?.thread);
    expect([a1, b1, a2].flatMap((sent) => sent?.warnings)).toEqual([]);
    expect((await place.count()) - before).toBe(2);
    const own = await place.write("");
    const foreign = await place.write(await place.foreign());
    expect([own, foreign]).not.toContain(`${name}-a`);
    expect(await place.write(a1?.thread ?? "")).toBe(`${name}-a`);
    expect(await place.write(b1?.thread ?? "")).toBe(`${name}-b`);
    const { threads } = await service.api(`/api/sessions/${name}-a`);
    expect(threads).toContainEqual({ channel: name, to: expect.any(String), thread: a1?.thread });
  });
});

test("who was not written to, and is not in from, does not reach the session of a mail", async () => {
  const sent = (await report("letters", "One")).get("email");
  const [id] = sent?.thread?.replaceAll(/[<>]/g, "").split(" ") ?? [];
  const mail = { id: "forwarded", from: "eve@example.net", subject: "Re: Incident", body: "And?", references: [id] };
  expect(await write("mail", { messages: [mail] })).not.toBe("letters");
  const { hasSeen } = CONTINUE_RULES;
  CONTINUE_RULES.hasSeen = () => true;
  expect(await write("mail", { messages: [{ ...mail, id: "again" }] })).toBe("letters");
  CONTINUE_RULES.hasSeen = hasSeen;
});

test("a message of ours without thread is the start of one, and what we wrote in a thread of others is not", async () => {
  await report("plain-a", "Plain.", "plain");
  const ts = await slack.find((text) => text === "Plain.");
  expect(await PLACES["slack"]?.write(`${slack.channel}:${ts}`)).toBe("plain-a");
  const theirs = await slack.post("Theirs");
  const to = `${slack.channel}:${theirs}`;
  const { body } = await service.post("agent", { message: "Hello", sessionKey: "plain-b", channel: "slack", to });
  await service.settled(body.eventId);
  expect(await PLACES["slack"]?.write(to)).toBe(`hook:slack:${to}`);
});

test("an account does not know the messages of another one, in any service", async () => {
  const sent = await report("accounts-a", "A1");
  for (const [name, place] of Object.entries(PLACES)) {
    const thread = sent.get(name)?.thread ?? "";
    expect([name, await place.write(thread)]).toEqual([name, "accounts-a"]);
    expect(await place.write(thread, "-eu")).toMatch(/^hook:[a-z]+-eu:/);
  }
});

test("an answer to what a heartbeat has written is not of the main session", async () => {
  await service.post("wakes", { text: "Wake up." });
  const ts = await waitFor(() => slack.find((text) => text === FINDING), "the heartbeat's reply");
  await PLACES["slack"]?.write(`${slack.channel}:${ts}`);
  const [{ reason, actions }] = (await service.api("/api/events?hook=slack&limit=1")).events;
  expect({ reason, actions }).toEqual({ reason: "it does not mention the agent", actions: [] });
});

test("a thread that is gone is followed by another one, with a warning", async () => {
  const first = await report("gone", "G1");
  discord.threads.delete(first.get("discord")?.thread ?? "");
  mattermost.remove(first.get("mattermost")?.thread?.split(":")[1] ?? "");
  const second = await report("gone", "G2");
  for (const channel of ["discord", "mattermost"]) {
    const [before, after] = [first.get(channel), second.get(channel)];
    expect(after?.thread).not.toBe(before?.thread);
    expect(after?.warnings).toEqual([expect.stringContaining(`The thread ${before?.thread} is gone`)]);
  }
  expect((await report("gone", "G3")).get("discord")?.thread).toBe(second.get("discord")?.thread);
});

test("whatever the order of replies and messages of three sessions in one channel, no message reaches another", async () => {
  const sessions = ["s1", "s2", "s3"];
  const threads = new Map<string, string>();
  const step = fc.record({
    session: fc.constantFrom(...sessions),
    isReply: fc.boolean(),
    hook: fc.constantFrom("alerts", "plain"),
  });
  const property = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 10 }), async (steps) => {
    for (const { session, isReply, hook } of steps) {
      const thread = threads.get(session);
      if (isReply || thread === undefined) {
        const text = `${session} ${(posted += 1)}`;
        const sent = (await report(session, text, hook)).get("slack");
        const ts = await slack.find((written) => written === text);
        const own = sent?.thread ?? `${slack.channel}:${ts}`;
        threads.set(session, own);
      } else expect(await PLACES["slack"]?.write(thread)).toBe(session);
    }
  });
  await fc.assert(property, { numRuns: 4 });
});
