/** `kill -9` between a question with buttons and its record: it stays one question, and a press below any of its messages decides it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { toButtonPlaces } from "../support/button-places.ts";
import { createClient, waitFor } from "../support/client.ts";
import { startDiscord } from "../support/discord.ts";
import { startKillingProxy } from "../support/killing-proxy.ts";
import { startMattermost } from "../support/mattermost.ts";
import { startModels } from "../support/models.ts";
import { DISCORD_KEY, postPress, PRESS_SECRET } from "../support/presses.ts";
import { startProcess } from "../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, openService, withTokens } from "../support/service.ts";
import { startTelegram } from "../support/telegram.ts";
import { startToolServer } from "../support/tool-server.ts";
import { startSlack } from "../support/vendors/slack.ts";

const REPLY = "The disk of db-7 is full.";

/** The requests that post a message. */
const POSTS = {
  slack: /chat\.postMessage$/,
  discord: /\/messages$/,
  mattermost: /\/posts$/,
  telegram: /\/sendMessage$/,
};

const NAMES = ["slack", "discord", "mattermost", "telegram"] as const;

type Json = ReturnType<typeof JSON.parse>;

test("a kill between a question with buttons and its record", { timeout: 180_000 }, async () => {
  const [slack, discord, mattermost, telegram] = await Promise.all([
    startSlack(),
    startDiscord(),
    startMattermost(),
    startTelegram(),
  ]);
  const servers = { slack, discord, mattermost, telegram };
  const places = toButtonPlaces(() => servers);
  const [models, tickets] = await Promise.all([startModels(), startToolServer(() => "db-7: disk full")]);
  models.reply(REPLY);
  const posted = new Set<string>();
  const proxies = await Promise.all(
    NAMES.map((name) => startKillingProxy(servers[name].baseUrl, POSTS[name], () => void posted.add(name))),
  );
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-buttons-"));
  const file = path.join(folder, "webhooks.json5");

  function toConfig(asked: (typeof NAMES)[number]): UserConfig {
    const to = places[asked]!.to();
    const show = { description: "One ticket.", get: "/ok/{id}", input: { id: "integer" } } as const;
    return {
      gateway: { publicUrl: "https://hooks.example.com" },
      channels: Object.fromEntries(
        NAMES.map((name, at) => [name, { token: servers[name].token, baseUrl: proxies[at]!.url }]),
      ),
      agents: {
        providers: { house: { kind: "openai-compatible", baseUrl: models.baseUrl } },
        defaults: { model: "house/large", heartbeat: { every: "24h" } },
        tools: { tickets: { kind: "http", baseUrl: tickets.url, private: true, calls: { show } } },
        approvals: { channel: asked, to, by: NAMES.map((name) => `${name}:${places[name]!.person}`) },
      },
      hooks: {
        presets: NAMES.map((use) => ({
          use,
          with: {
            secret: use === "discord" ? DISCORD_KEY : PRESS_SECRET,
            deliver: false,
            ...(["telegram", "discord"].includes(use) && { from: "anyone" }),
          },
        })),
        mappings: [
          {
            id: "status",
            match: { path: "status" },
            messageTemplate: "{{text}}",
            wakeMode: "next-heartbeat",
            context: [{ call: "tickets.show", arguments: { id: 7 } }],
            deliver: [{ channel: asked, to, audience: "public" }],
          },
        ],
      },
    };
  }

  const events: [name: string, eventId: string][] = [];
  writeFileSync(file, JSON.stringify(withTokens(toConfig(NAMES[0]))));
  const killed = await startProcess(file);
  const client = createClient(killed.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  for (const name of NAMES) {
    writeFileSync(file, JSON.stringify(withTokens(toConfig(name))));
    expect(await client.operate("POST", "/api/reload")).toMatchObject({ status: 200 });
    const { body } = await client.post("status", { text: "How is db-7?" });
    events.push([name, body.eventId]);
    await waitFor(() => posted.has(name), `the question in ${name}`);
  }
  // All of them wait for their answers.
  await killed.end("SIGKILL");

  const service = await openService(folder);
  for (const [name, eventId] of events) {
    const deliveries = async (): Promise<Json[]> => (await service.api(`/api/events/${eventId}`)).deliveries;
    await waitFor(async () => (await deliveries()).some(({ state }) => state === "sent"), `the question in ${name}`);
    const { approvals } = await service.api("/api/approvals?state=open");
    const { code } = approvals.find((one: Json) => one.eventId === eventId);
    const { read, person } = places[name]!;
    const shown = async () => (await read()).filter(({ text }) => text.includes(code));
    const asked = await shown();
    // The code says that two messages are one question.
    expect([name, asked.length]).toEqual([name, name === "telegram" ? 2 : 1]);
    const [first] = asked;
    const { value = "" } = first!.buttons.find(({ label }) => label === "Approve") ?? {};
    const { reason } = await postPress(service, name, { value, person, messageId: first!.id });
    expect([name, reason]).toEqual([name, `answered ${code}`]);
    await service.settled(eventId);
    const after = await shown();
    expect([name, after.length, after.flatMap(({ buttons }) => buttons)]).toEqual([name, 1, []]);
    expect(after[0]!.text).toContain(`Approved by ${name}:${person}`);
    expect((await read()).filter(({ text }) => text === REPLY)).toHaveLength(1);
  }
  await service.close();
  for (const proxy of proxies) proxy.close();
  await Promise.all([...Object.values(servers), models, tickets].map((server) => server.close()));
  rmSync(folder, { recursive: true, force: true });
});
