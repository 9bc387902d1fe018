/** Where a reply to an event of a preset goes, and that what follows there is the same session. */
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { builtInDrivers } from "../../src/service/drivers.ts";
import type { ChannelDriver } from "../../src/core/ports/channel.ts";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { usePreset } from "../support/preset.ts";

const SETTINGS: NonNullable<UserConfig["channels"]> = {
  slack: { token: "t" },
  discord: { token: "t" },
  telegram: { token: "t" },
  github: { token: "t" },
  linear: { token: "t" },
  whatsapp: { token: "t", phoneNumberId: "1" },
  mattermost: { token: "t", baseUrl: "https://chat.example.com" },
  msteams: { appId: "a", appPassword: "p" },
  googlechat: { email: "a@example.com", privateKey: "k" },
  email: { host: "mail.example.com", from: "agent@example.com" },
};

async function answerTo(preset: string, payload: unknown, options: object = {}) {
  const send = await usePreset(preset, { channel: "source", ...unaddressed(preset), ...options }, SETTINGS);
  return (await send(payload)).actions.map((action) => {
    if (action.kind !== "agent") throw new Error("It has no reply.");
    return { channel: action.channel, to: action.deliver ? action.to : undefined, sessionKey: action.sessionKey };
  });
}

/** A message of a channel of Slack needs no mention. */
function unaddressed(preset: string): object {
  return preset === "slack" ? { mention: false } : {};
}

function sample(preset: string, name: string) {
  return JSON.parse(readFileSync(new URL(`../../presets/${preset}/samples/${name}.json`, import.meta.url), "utf8"));
}

test.each([
  ["slack", "thread-reply", "slack", "C0SHOP001:1767603600.000100"],
  ["slack", "direct-message", "slack", expect.stringMatching(/^D\w+$/)],
  ["slack", "mention", "slack", expect.stringMatching(/^C\w+:\d+\.\d+$/)],
  ["slack", "slash-command", "slack", expect.stringMatching(/^C\w+$/)],
  ["slack", "button", "slack", expect.stringMatching(/^C\w+:\d+\.\d+$/)],
  ["discord", "direct-message", "discord", expect.stringMatching(/^\d+:\d+$/)],
  ["discord", "command", "discord", expect.stringMatching(/^\d+$/)],
  ["discord", "button", "discord", expect.stringMatching(/^\d+:\d+$/)],
  ["telegram", "group-message", "telegram", "-1001234567890/5:12"],
  ["telegram", "direct-message", "telegram", expect.stringMatching(/^\d+$/)],
  ["telegram", "button", "telegram", expect.stringMatching(/^-?\d+(?:\/\d+)?(?::\d+)?$/)],
  ["whatsapp", "text", "whatsapp", "491510000001:wamid.HBg001"],
  ["mattermost", "post", "mattermost", "hawos4dqtby53pd64o4a4cmeoo:axdygg1957njfe5pu38saikdho"],
  ["teams", "mention", "msteams", expect.stringMatching(/^19:\w+@thread\.tacv2;messageid=\d+$/)],
  ["teams", "direct-message", "msteams", expect.stringMatching(/^a:\w+$/)],
  ["googlechat", "mention", "googlechat", "spaces/AAAAabcdEFG/threads/thr1"],
  ["googlechat", "direct-message", "googlechat", "spaces/DDDDdm"],
  ["googlechat", "add-on", "googlechat", "spaces/AAAAabcdEFG/threads/thr1"],
  ["teams", "reaction", "msteams", expect.stringMatching(/;messageid=\d+$/)],
])("%s, %s", async (preset, name, channel, to) => {
  const answers = await answerTo(preset, sample(preset, name), { events: ["*"] });
  expect(answers).toMatchObject([{ channel, to }]);
  const driver = (await builtInDrivers.channels[channel]?.create(
    SETTINGS[channel as "slack"] ?? {},
    {} as never,
  )) as ChannelDriver;
  for (const answer of answers) driver.checkRecipient(answer.to ?? "");
});

test.each([
  ["postmark", "mail"],
  ["mailgun", "mail"],
  ["sendgrid", "mail"],
  ["resend", "received"],
  ["resend", "inbox-received"],
  ["sns", "mail"],
])("%s, a mail", async (preset, name) => {
  expect(await answerTo(preset, sample(preset, name))).toMatchObject([
    { channel: "email", to: expect.stringMatching(/^\S+@\S+$/) },
  ]);
});

test.each([
  ["postmark", "bounce-hard"],
  ["mailgun", "failed-permanently"],
  ["resend", "bounced"],
])("%s, %s, names no place", async (preset, name) => {
  expect(await answerTo(preset, sample(preset, name))).toMatchObject([{ to: undefined }]);
});

test("what is said in the thread of a reply is in the same session", async () => {
  const mention = sample("slack", "mention");
  const [first] = await answerTo("slack", mention);
  const ts = first?.to?.split(":")[1];
  const event = { ...mention.event, type: "message", channel_type: "channel", ts: "1800000000.000100", thread_ts: ts };
  const [second] = await answerTo("slack", { ...mention, event_id: "Ev2", event });
  expect(second).toEqual(first);
});

test("a Telegram message of a business connection names no place, since the bot's own chat is another one", async () => {
  const { message } = sample("telegram", "direct-message");
  const payload = { update_id: 7, business_message: { ...message, business_connection_id: "b" } };
  const answers = await answerTo("telegram", payload, { events: ["*"] });
  expect(answers).toMatchObject([{ to: undefined }]);
});

const MAIL = {
  id: "b@x#1",
  messageId: "b@example.com",
  threadId: "a@example.com",
  from: "Ann <ann@example.com>",
  sender: "ann@example.com",
  subject: "The report",
};

test.each([
  ["an answer", {}, { to: "ann@example.com", subject: "The report", references: ["<b@example.com>"] }],
  ["a place for answers", { replyAddress: "list@example.com" }, { to: "list@example.com" }],
  ["a subject with tags", { subject: "<b> <a@x> & <i>" }, { subject: "<b> <a@x> & <i>" }],
  ["a long subject", { subject: "x".repeat(998) }, { subject: "x".repeat(998) }],
  ["no subject", { subject: "" }, { subject: undefined }],
  ["an id without @", { messageId: "b" }, { references: ["<b>"] }],
  ["a long id", { messageId: "b".repeat(900) }, { references: [`<${"b".repeat(900)}>`] }],
  ["an id with a blank", { messageId: "a b@x" }, { to: "ann@example.com", subject: "The report" }],
  ["no ids", { messageId: "", threadId: "" }, { to: "ann@example.com", references: undefined }],
  ["no answer to a program", { automatic: "Precedence: bulk" }, undefined],
  ["no answer to a forged sender", { authentication: { dmarc: "fail" } }, undefined],
  ["no answer without a sender", { sender: "" }, undefined],
  ["no answer if the address is too long", { sender: `${"x".repeat(520)}@example.com` }, undefined],
])("mail: %s", async (_, change, answer) => {
  const send = await usePreset("mail", { channel: "source", session: "thread" }, SETTINGS);
  const { actions } = await send({ source: "imap", messages: [{ ...MAIL, ...change }] });
  expect(actions).toMatchObject([answer ? { deliver: true, channel: "email", ...answer } : { deliver: false }]);
});

test.each([
  ["all of its mails", ["a@x", `${"m".repeat(200)}@x`, "c@x"], 4, "<c@x>"],
  ["the first and the last ones of very many", Array.from({ length: 200 }, (_, index) => `${index}@x`), 50, "<199@x>"],
  ["itself, if it names none", undefined, 1, undefined],
])("a mail: the answer follows %s", async (_which, references, count, last) => {
  const send = await usePreset("mail", { channel: "source" }, SETTINGS);
  const { actions } = await send({ source: "imap", messages: [{ ...MAIL, references }] });
  const [found] = actions.map((action) => (action.kind === "agent" ? action.references : undefined));
  expect(found).toHaveLength(count);
  expect(found?.slice(-2)).toEqual([last, "<b@example.com>"].filter(Boolean));
  if (references) expect(found?.slice(0, 1)).toEqual([`<${references[0]}>`]);
});

test("the answer to our answer is in the session of the first mail", async () => {
  const send = await usePreset("mail", { channel: "source", session: "thread" }, SETTINGS);
  // A mail program takes over our References, which begin with the thread, and adds our Message-ID.
  const messages = [MAIL, { ...MAIL, id: "c#2", messageId: "c@example.com", threadId: "a@example.com" }];
  const { actions } = await send({ source: "imap", messages });
  expect(new Set(actions.map((action) => action.kind === "agent" && action.sessionKey)).size).toBe(1);
});

test.each([
  ["mail", "read-mail", { session: "thread" }],
  ["postmark", "mail", { session: "thread" }],
  ["mailgun", "mail", { session: "thread" }],
  ["sendgrid", "mail", { session: "thread" }],
  ["sns", "mail", { session: "thread" }],
  ["resend", "received", {}],
])("%s: who was not in a thread is not in its session", async (preset, name, options) => {
  const send = await usePreset(preset, options);
  const keyOf = async (payload: unknown) =>
    (await send(payload)).actions.map((action) => action.kind === "agent" && action.sessionKey)[0];
  const mail = sample(preset, name);
  const other = JSON.parse(JSON.stringify(mail).replaceAll(/ann@[a-z.]+/gi, "eve@example.net"));
  const first = await keyOf(mail);
  expect(await keyOf(other)).toMatch(/:[\w-]{16}$/);
  expect(await keyOf(mail)).toBe(first);
});

test.each([
  ["slack", "direct-message", true],
  ["slack", "thread-reply", undefined],
  ["github", "issue-comment", true],
  ["linear", "issue-create", true],
  ["telegram", "direct-message", undefined],
])("others cannot see the place of %s, %s: %s", async (preset, name, isPrivate) => {
  const send = await usePreset(preset, { channel: "source", events: ["*"], ...unaddressed(preset) }, SETTINGS);
  const file = new URL(`../../presets/${preset}/samples/${name}.request.json`, import.meta.url);
  const { headers = {} } = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  const named = Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), String(value)]));
  const { actions } = await send(sample(preset, name), named);
  expect(actions.map((action) => action.kind === "agent" && action.toSource && action.isPrivate)).toEqual([isPrivate]);
});
