/** Questions with buttons in the chats that have some, pressed as their services post it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DiscordServer, startDiscord } from "./support/discord.ts";
import { waitFor } from "./support/client.ts";
import { type MattermostServer, startMattermost } from "./support/mattermost.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { type Shown, toButtonPlaces } from "./support/button-places.ts";
import { createPostgresUrl } from "./support/postgres.ts";
import { DISCORD_KEY, postPress, PRESS_SECRET, type Pressed, sendPress } from "./support/presses.ts";
import { HOOK_TOKEN, type Service, startService } from "./support/service.ts";
import { startTelegram, type TelegramEmulator } from "./support/telegram.ts";
import { startToolServer, type ToolServer } from "./support/tool-server.ts";
import { type SlackServer, startSlack } from "./support/vendors/slack.ts";

const REPLY = "The disk of db-7 is full.";

let models: ModelServer;
let tickets: ToolServer;
let slack: SlackServer;
let telegram: TelegramEmulator;
let discord: DiscordServer;
let mattermost: MattermostServer;
let service: Service;

beforeAll(async () => {
  [models, tickets, slack, telegram, discord, mattermost] = await Promise.all([
    startModels(),
    startToolServer(() => "db-7: disk full"),
    startSlack(),
    startTelegram(),
    startDiscord(),
    startMattermost(),
  ]);
  models.reply(REPLY);
});
afterAll(async () => {
  await service.close();
  await Promise.all([models, tickets, slack, telegram, discord, mattermost].map((server) => server.close()));
});

type Json = ReturnType<typeof JSON.parse>;

const PLACES = toButtonPlaces(() => ({ slack, telegram, discord, mattermost }));

/** Their presets know who is a member. */
const WITH_MEMBERS = new Set(["slack", "mattermost"]);

interface ConfigChanges {
  uses?: { use: string; with: Record<string, unknown> }[];
  approvals?: object;
  channels?: UserConfig["channels"];
}

/** A reply that was made from a private ticket, to a place that others can see, waits for a person. */
function toConfig(name: string, more: ConfigChanges = {}): UserConfig {
  const place = PLACES[name]!;
  const secret = name === "discord" ? DISCORD_KEY : PRESS_SECRET;
  const from = WITH_MEMBERS.has(name) ? {} : { from: "anyone" };
  const uses = more.uses ?? [{ use: name, with: { secret, deliver: false, ...from } }];
  const to = place.to();
  return {
    gateway: { publicUrl: "https://hooks.example.com" },
    channels: {
      slack: { token: slack.token, baseUrl: slack.baseUrl },
      telegram: { token: telegram.token, baseUrl: telegram.baseUrl },
      discord: { token: discord.token, baseUrl: discord.baseUrl },
      mattermost: { token: mattermost.token, baseUrl: mattermost.baseUrl },
      ...more.channels,
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
      approvals: { channel: name, to, by: [`${name}:${place.person}`], ...more.approvals },
    },
    hooks: {
      presets: uses,
      mappings: [
        {
          id: "status",
          match: { path: "status" },
          messageTemplate: "{{text}}",
          wakeMode: "next-heartbeat",
          context: [{ call: "tickets.show", arguments: { id: 7 } }],
          deliver: [{ channel: name, to, audience: "public" }],
        },
      ],
    },
  };
}

async function use(name: string, more?: ConfigChanges): Promise<void> {
  const config = toConfig(name, more);
  if (service) await service.reload(config);
  else service = await startService({ config });
}

interface Asked extends Shown {
  eventId: string;
  code: string;
}

/** Lets a run end that is held for a person, and gives its question. */
async function ask(name: string): Promise<Asked> {
  const { body } = await service.post("status", { text: "How is db-7?" });
  const deliveries = async (): Promise<Json[]> => (await service.api(`/api/events/${body.eventId}`)).deliveries;
  await waitFor(async () => (await deliveries()).some(({ state }) => state === "sent"), "a question");
  const { approvals } = await service.api("/api/approvals?state=open");
  const { code } = approvals.find(({ eventId }: Json) => eventId === body.eventId);
  const shown = (await PLACES[name]!.read()).findLast(({ text }) => text.includes(code));
  return { ...shown!, eventId: body.eventId, code };
}

const press = (name: string, { id }: Shown, value: string, more: object = {}): Promise<Pressed> =>
  postPress(service, name, { value, person: PLACES[name]!.person, messageId: id, ...more });

async function replies(name: string): Promise<number> {
  return (await PLACES[name]!.read()).filter(({ text }) => text === REPLY).length;
}

/** The message of a question, as it is now. */
async function readEdited(name: string, { id, eventId }: Asked): Promise<Shown> {
  await service.settled(eventId);
  return (await PLACES[name]!.read()).find((shown) => shown.id === id)!;
}

describe.each(Object.keys(PLACES))("in %s", (name) => {
  const place = PLACES[name]!;
  const by = `${name}:${place.person}`;
  beforeAll(() => use(name));

  test("approve delivers the reply, and the message says who has decided; a later press is told so", async () => {
    const before = await replies(name);
    const asked = await ask(name);
    expect(asked.buttons.map(({ label }) => label)).toEqual(["Approve", "Deny"]);
    const [approve, deny] = asked.buttons.map(({ value }) => value);
    expect(new Set([approve, deny]).size).toBe(2);
    for (const value of [approve, deny]) expect(value).not.toContain(asked.code);
    expect(asked.text.includes(`approve ${asked.code}`)).toBe(["slack", "telegram"].includes(name));

    const pressed = await press(name, asked, approve!);
    expect({ status: pressed.status, reason: pressed.reason }).toEqual({
      status: 200,
      reason: `answered ${asked.code}`,
    });
    expect(place.told(pressed)).toBeUndefined();
    const edited = await readEdited(name, asked);
    expect(edited.buttons).toEqual([]);
    expect(edited.text).toContain(`Approved by ${by}`);
    expect(await replies(name)).toBe(before + 1);

    const late = await press(name, asked, deny!);
    expect(late.reason).toMatch(new RegExp(`^answered ${asked.code}, which had ended: Approved by `));
    if (name !== "slack") expect(place.told(late)).toContain(`Approved by ${by}`);
    expect(await replies(name)).toBe(before + 1);
    const { events } = await service.api("/api/events?limit=100");
    expect(JSON.stringify(events)).not.toContain(approve);
    const stored = await service.api(`/api/events/${events[0].id}`);
    expect(JSON.stringify(stored)).not.toContain(approve!.split(":")[1]);
  });

  test("a press that does not count is skipped and starts nothing, until one counts: then deny drops the reply", async () => {
    const before = await replies(name);
    const turns = models.conversations().length;
    const other = await ask(name);
    const asked = await ask(name);
    const [approve = "", deny = ""] = asked.buttons.map(({ value }) => value);
    const wrong: [object, string][] = [
      [{ person: place.other }, "the person is not in agents.approvals.by"],
      [{ messageId: other.id }, "the button is below another message"],
    ];
    for (const [more, reason] of wrong) {
      expect(await press(name, asked, approve, more)).toMatchObject({
        status: 200,
        reason: `it is a press that does not count: ${reason}`,
      });
    }
    const unknown = await press(name, asked, `hookline:${"x".repeat(32)}`);
    // Without a signature, the button is all that proves a press.
    if (name === "mattermost") expect(unknown.status).toBe(401);
    else expect(unknown).toMatchObject({ status: 200, reason: "it is a press of a button that is not known" });
    if (name !== "mattermost") {
      expect((await press(name, asked, approve, { isForged: true })).status).toBe(401);
      expect((await press(name, asked, approve, { token: HOOK_TOKEN })).status).toBe(401);
    }
    expect(await replies(name)).toBe(before);
    expect((await press(name, asked, deny)).reason).toBe(`answered ${asked.code}`);
    expect((await readEdited(name, asked)).text).toContain(`Denied by ${by}`);
    expect((await press(name, other, other.buttons[1]!.value)).reason).toBe(`answered ${other.code}`);
    await service.settled(other.eventId);
    expect(await replies(name)).toBe(before);
    expect(models.conversations().length).toBe(turns + 2);
  });
});

test("a question that was decided elsewhere loses its buttons", async () => {
  await use("discord");
  const asked = await ask("discord");
  const { approvals } = await service.api("/api/approvals?state=open");
  const { id } = approvals.find(({ code }: Json) => code === asked.code);
  await service.operate("POST", `/api/approvals/${id}`, { decision: "deny", reason: "not now" });
  const edited = await readEdited("discord", asked);
  expect(edited.buttons).toEqual([]);
  expect(edited.text).toMatch(/Denied by operator, .* not now/);
});

test("a button is none in another service, also of somebody who may decide", async () => {
  const uses = [
    { use: "slack", with: { secret: PRESS_SECRET, deliver: false } },
    { use: "telegram", with: { secret: PRESS_SECRET, deliver: false, from: "anyone" } },
  ];
  await use("slack", { uses, approvals: { by: ["slack:T0ACME/U0ANN", "telegram:222"] } });
  const asked = await ask("slack");
  const { value } = asked.buttons[0]!;
  const elsewhere = await postPress(service, "telegram", { value, person: "222", messageId: `${telegram.chat}:1` });
  expect(elsewhere.reason).toMatch(/^it is a press (?:that does not count|of a button that is not known)/);
  expect((await readApproval(asked)).state).toBe("open");
});

test.each(Object.keys(PLACES))("a press in another account of %s does not count", async (name) => {
  const secret = name === "discord" ? DISCORD_KEY : PRESS_SECRET;
  const from = WITH_MEMBERS.has(name) ? {} : { from: "anyone" };
  const servers = { slack, telegram, discord, mattermost };
  const { token, baseUrl } = servers[name as keyof typeof servers];
  const { to, person } = PLACES[name]!;
  const bounded = { secret, deliver: false, ...from, place: to() };
  await use(name, {
    uses: [
      { use: name, with: bounded },
      { use: name, with: { ...bounded, path: "eu", account: "eu" } },
    ],
    channels: { [`${name}:eu`]: { token, baseUrl } },
    approvals: { by: [`${name}:${person}`, `${name}:eu:${person}`] },
  });
  const asked = await ask(name);
  const { reason } = await press(name, asked, asked.buttons[0]!.value, { hook: "eu" });
  expect(reason).toMatch(/^it is a press that does not count/);
  expect((await readApproval(asked)).state).toBe("open");
  await press(name, asked, asked.buttons[0]!.value);
  await expect.poll(async () => (await readApproval(asked)).state).not.toBe("open");
});

test("without people in by, a question has no buttons", async () => {
  await use("discord", { approvals: { by: [] } });
  expect((await ask("discord")).buttons).toEqual([]);
});

async function readApproval({ eventId }: Asked): Promise<Json> {
  const { approvals } = await service.api("/api/approvals?limit=100");
  return approvals.find((one: Json) => one.eventId === eventId);
}

/** A thousand where there is time. */
const PRESSES = process.env["CASES"] === undefined ? 24 : 1000;

test("many presses at once on two nodes are one decision", async () => {
  const before = await replies("slack");
  const store = { url: await createPostgresUrl(), commitTimeout: "60s" } as const;
  const config = { ...toConfig("slack"), store };
  const nodes = [await startService({ config }), await startService({ config })];
  const single = service;
  service = nodes[0]!;
  try {
    const asked = await ask("slack");
    const [approve = "", deny = ""] = asked.buttons.map(({ value }) => value);
    const about = { person: PLACES["slack"]!.person, messageId: asked.id };
    const presses = Array.from({ length: PRESSES }, async (_, at) => {
      const response = await sendPress(nodes[at % 2]!, "slack", { ...about, value: at % 3 === 0 ? deny : approve });
      await response.body?.cancel();
      return response.status;
    });
    expect(new Set(await Promise.all(presses)).difference(new Set([200, 503]))).toEqual(new Set());
    await service.settled(asked.eventId);
    const { state } = await readApproval(asked);
    expect(["approved", "denied"]).toContain(state);
    expect((await replies("slack")) - before).toBe(state === "approved" ? 1 : 0);
  } finally {
    await Promise.all(nodes.map((node) => node.close()));
    service = single;
  }
});

test("what does not fit into a message has neither buttons nor typed answers", async () => {
  await use("slack");
  models.reply("x".repeat(5000));
  const asked = await ask("slack");
  models.reply(REPLY);
  expect(asked.text).toContain("It does not fit into one message");
  expect(asked.buttons).toEqual([]);
});

test.each(["slack", "discord"])("without a use of the account in %s, a question has neither", async (name) => {
  await use(name, { uses: [] });
  const asked = await ask(name);
  expect(asked.buttons).toEqual([]);
  expect(asked.text).toContain(`npx hookline approvals approve ${asked.code}`);
});

test("a press through a use with another secret of the account does not count", async () => {
  const to = slack.channel;
  const uses = [
    { use: "slack", with: { secret: PRESS_SECRET, deliver: false, place: "C0OTHER" } },
    { use: "slack", with: { secret: "another-secret-of-the-account", path: "other", deliver: false, place: to } },
  ];
  await use("slack", { uses });
  const asked = await ask("slack");
  const { reason } = await press("slack", asked, asked.buttons[0]!.value);
  expect(reason).toBe("it is a press that does not count: another use of the account could have signed it");
});
