/** Alerts: messages through a channel when something needs a person. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { waitFor } from "./support/client.ts";
import { startImapServer } from "./support/imap-server.ts";
import { toMailbox } from "./support/mail-service.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { openService, type Service, startService, withTokens } from "./support/service.ts";
import { copyState } from "./contracts/journal/harness.ts";
import { createSqliteJournal } from "../src/stores/sqlite/sqlite.ts";
import { silentTelemetry } from "../src/core/telemetry/telemetry.ts";
import { findProblems } from "./support/config.ts";
import { createPostgresUrl } from "./support/postgres.ts";
import { openStream } from "./support/sse.ts";
import { type SlackServer, startSlack } from "./support/vendors/slack.ts";

type AlertInput = NonNullable<UserConfig["alerts"]>[number];

let slack: SlackServer;
let service: Service | undefined;
let models: ModelServer | undefined;

beforeEach(async () => {
  slack = await startSlack();
});
afterEach(async () => {
  await service?.close();
  await models?.close();
  await slack.close();
  service = undefined;
  models = undefined;
});

test("a dead letter sends one alert, without its text, and another after the cooldown", async () => {
  const node = await start({ on: ["dead-letter"], every: "1h" });
  const first = await failDelivery(node);
  expect(await toldAfter(0)).toEqual([
    `A run or delivery of the hook agent (event ${first}) failed permanently. See: npx hookline dead-letters list`,
  ]);
  await failDelivery(node);
  // Each rule has a separate cooldown: once its message is there, the first rule has let this one pass.
  await node.reload(toConfig({ on: ["dead-letter"], every: "1h" }, { on: ["dead-letter"], every: "1ms" }));
  const third = await failDelivery(node);
  expect(await toldAfter(1)).toEqual([expect.stringContaining(third)]);
  await waitFor(async () => {
    const later = await failDelivery(node);
    return (await slack.messages()).slice(2).some((text) => text.includes(later));
  });
});

test("a refused reload sends an alert with the place and without the value", async () => {
  const node = await start({ on: ["reload-failed"] });
  const broken = { ...toConfig({ on: ["reload-failed"] }), gateway: { port: "secret-value" } } as unknown as UserConfig;
  await expect(node.reload(broken)).rejects.toThrow("gateway.port");
  const [text] = await toldAfter(0);
  expect(text).toMatch(/^The changed configuration was refused: a problem at webhooks\.json5:\d+:gateway\.port\b/);
  expect(text).not.toContain("secret-value");
});

test("a hook without events sends an alert, one with events does not", async () => {
  const rule: AlertInput = { on: ["no-event-for"], hook: "wake", after: "300ms", channel: "slack", to: slack.channel };
  const node = await start({ ...rule, hook: "agent", after: "1h" }, rule);
  await node.post("agent", { message: "x", deliver: false });
  expect(await toldAfter(0)).toEqual(["No event of the hook wake has come yet. See: npx hookline rejections"]);
});

test("a tool set that cannot be reached sends an alert, and its calls fail", async () => {
  // No other test's server gets this port.
  const baseUrl = "http://127.0.0.1:2/";
  const node = await start({ on: ["tool-unreachable"] });
  const calls = { show: { description: "Reads.", get: "/x" } };
  const mapping = { match: { path: "m" }, messageTemplate: "x", context: [{ call: "away.show" }], deliver: false };
  await node.reload({
    ...toConfig({ on: ["tool-unreachable"] }),
    agents: { tools: { away: { kind: "http", baseUrl, private: true, calls } } },
    hooks: { mappings: [mapping] },
  });
  const { body } = await node.post("m", {});
  expect(await toldAfter(0)).toEqual([
    "The tool set away cannot be reached, so its calls fail. See: npx hookline tools call away.show",
  ]);
  expect(await node.settled(body.eventId)).toMatchObject({ status: "done" });
});

test("a run that a budget holds sends an alert", async () => {
  models = await startModels();
  models.reply("Done.");
  const node = await start({ on: ["budget"] });
  await node.reload({
    ...toConfig({ on: ["budget"] }),
    agents: {
      providers: { local: { kind: "openai-compatible", baseUrl: models.baseUrl } },
      defaults: { model: "local/small" },
      budget: { perDay: 1, unit: "tokens" },
    },
  });
  const message = { message: "a text of the sender", deliver: false };
  await node.settled((await node.post("agent", message)).body.eventId);
  const { eventId } = (await node.post("agent", message)).body;
  expect(await toldAfter(0)).toEqual([
    `A run of the hook agent (event ${eventId}) is held: budget: perDay. See: npx hookline runs list --state held`,
  ]);
});

test("a mailbox that refuses the login sends an alert", async () => {
  const imap = await startImapServer();
  const mail = toMailbox(imap, { name: "support", source: { password: "wrong" } });
  service = await startService({
    config: { ...toConfig({ on: ["mailbox-down"] }), hooks: { presets: ["mail"], mail } },
  });
  expect(await toldAfter(0).finally(() => imap.close())).toEqual([
    "The mailbox support is down (login-refused): no mail arrives. See: npx hookline status",
  ]);
});

test("of several nodes one tells, and another when that one has stopped", async () => {
  const config = { ...toConfig({ on: ["dead-letter"], every: "1ms" }), store: { url: await createPostgresUrl() } };
  const first = await startService({ config });
  service = await startService({ config });
  const streams = [await openStream(first.url), await openStream(service.url)];
  const seen = () => streams.map(({ messages }) => messages.filter(({ event }) => event === "dead-letter").length);
  for (const [count, node] of [first, service].entries()) {
    const eventId = await failDelivery(node);
    expect(await toldAfter(count)).toEqual([expect.stringContaining(eventId)]);
    await expect.poll(seen).toEqual([count + 1, count + 1]);
  }
  await first.close();
  const eventId = await failDelivery(service);
  expect(await toldAfter(2)).toEqual([expect.stringContaining(eventId)]);
});

test("of nodes with different rules each tells what the others do not, also after a reload of one", async () => {
  const store = { url: await createPostgresUrl() };
  const silence: Partial<AlertInput> = { on: ["no-event-for"], hook: "ci", after: "1ms" };
  const death: Partial<AlertInput> = { on: ["dead-letter"], every: "1ms" };
  const old = await startService({ config: { ...toConfig(silence), store } });
  expect(await toldAfter(0)).toEqual(["No event of the hook ci has come yet. See: npx hookline rejections"]);
  service = await startService({ config: { ...toConfig(silence, death), store } });
  const first = await failDelivery(service);
  expect(await toldAfter(1)).toEqual([expect.stringContaining(first)]);

  await old.reload({ ...toConfig(silence, death), store });
  await service.reload({ ...toConfig(silence), store });
  const second = await failDelivery(old);
  expect(await toldAfter(2)).toEqual([expect.stringContaining(second)]);
  await old.close();
});

test("a channel that cannot tell anybody, or a rule without its time, keeps the service from starting", async () => {
  const alerts: AlertInput[] = [
    { on: ["dead-letter"], channel: "discord", to: "1" },
    { on: ["no-event-for"], channel: "slakc", to: "C1", hook: "ci" },
  ];
  expect((await findProblems({ alerts })).errors).toEqual([
    'alerts[0].channel: The channel "discord" is not configured: add a channels.discord block.',
    'alerts[1].channel: There is no channel "slakc"; did you mean "slack"?',
    'alerts[1].after: A duration is required for "no-event-for", such as after: "24h".',
  ]);
  await expect(start({ on: ["dead-letter"], to: "#general!" })).rejects.toThrow("alerts[0].to");
});

test("a process that ends again and again is reported once, also after the next end", async () => {
  let folder = mkdtempSync(path.join(tmpdir(), "hookline-restarts-"));
  const config = { ...toConfig({ on: ["restarting"] }, { on: ["dead-letter"] }), store: { path: "state" } };
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(withTokens(config)));
  for (let kills = 0; kills < 5; kills += 1) folder = await killIn(folder);
  service = await openService(folder);
  const [told = ""] = await toldAfter(0);
  expect(told).toMatch(/^The service has ended 5 times within an hour without being stopped/);

  const killed = copyState(folder);
  await service.close();
  service = await openService(killed);
  await failDelivery(service);
  expect(await toldAfter(1)).toEqual([expect.stringContaining("failed permanently")]);
});

/** Starts on the state in the folder and is killed. Gives the folder that is left. */
async function killIn(folder: string): Promise<string> {
  const journal = await createSqliteJournal({ folder: path.join(folder, "state"), telemetry: silentTelemetry });
  const left = copyState(folder);
  await journal.close();
  rmSync(folder, { recursive: true });
  return left;
}

async function start(...rules: Partial<AlertInput>[]): Promise<Service> {
  service = await startService({ config: toConfig(...rules) });
  return service;
}

function toConfig(...rules: Partial<AlertInput>[]): UserConfig {
  return {
    channels: { slack: { token: slack.token, baseUrl: slack.baseUrl }, imessage: { command: ["no-imsg"] } },
    alerts: rules.map((rule) => ({ on: [], channel: "slack", to: slack.channel, ...rule })) as AlertInput[],
  };
}

/** The messages after the first `count`, once there is one. */
async function toldAfter(count: number): Promise<string[]> {
  await waitFor(async () => (await slack.messages()).length > count);
  return (await slack.messages()).slice(count);
}

/** The program of the channel does not exist. Gives the event's id. */
async function failDelivery(node: Service): Promise<string> {
  const message = { message: "a text of the sender", channel: "imessage", to: "ann@example.com" };
  const { eventId } = (await node.post("agent", message)).body;
  expect((await node.settled(eventId)).status).toBe("failed");
  return eventId;
}
