/** `kill -9` between a message and its record: the session has one thread, not two, where the service can tell. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { createClient } from "../support/client.ts";
import { type DiscordServer, startDiscord } from "../support/discord.ts";
import { type MattermostServer, startMattermost } from "../support/mattermost.ts";
import { startKillingProxy } from "../support/killing-proxy.ts";
import { startProcess } from "../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, openService, withTokens } from "../support/service.ts";
import { type SlackServer, startSlack } from "../support/vendors/slack.ts";

interface Case {
  block(proxy: string): object;
  target: string;
  to: string;
  /** A request that posts a message. */
  posts: RegExp;
  /** How many threads the service has. */
  count(): Promise<number> | number;
}

function toCases(slack: SlackServer, mattermost: MattermostServer, discord: DiscordServer): Record<string, Case> {
  return {
    slack: {
      block: (baseUrl) => ({ token: slack.token, baseUrl }),
      target: slack.baseUrl,
      to: slack.channel,
      posts: /chat\.postMessage$/,
      count: async () => (await slack.messages()).length,
    },
    mattermost: {
      block: (baseUrl) => ({ token: mattermost.token, baseUrl }),
      target: mattermost.baseUrl,
      to: mattermost.channel,
      posts: /\/posts$/,
      count: () => mattermost.roots().filter((root) => root === undefined).length,
    },
    discord: {
      block: (baseUrl) => ({ token: discord.token, baseUrl }),
      target: discord.baseUrl,
      to: discord.channel,
      posts: /\/messages$/,
      count: () => discord.sent().filter(({ channel }) => channel === discord.channel).length,
    },
  };
}

test("a kill between the message that opens a thread and its record", { timeout: 180_000 }, async () => {
  const servers = await Promise.all([startSlack(), startMattermost(), startDiscord()]);
  const cases = Object.entries(toCases(...servers));
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-threads-"));
  const kills: (() => void)[] = [];
  const posted = new Set<string>();
  const proxies = await Promise.all(
    cases.map(([name, { target, posts }]) =>
      startKillingProxy(target, posts, () => {
        posted.add(name);
        // All three wait for their answers.
        if (posted.size === cases.length) for (const kill of kills) kill();
      }),
    ),
  );
  const config = withTokens({
    channels: Object.fromEntries(cases.map(([name, { block }], index) => [name, block(proxies[index]!.url)])),
    hooks: {
      allowRequestSessionKey: true,
      mappings: [
        {
          match: { path: "alerts" },
          messageTemplate: "{{text}}",
          agent: "none",
          wakeMode: "next-heartbeat",
          sessionKey: "{{session}}",
          deliver: cases.map(([channel, { to }]) => ({ channel, to, thread: "session" as const })),
        },
      ],
    },
  });
  const file = path.join(folder, "webhooks.json5");
  writeFileSync(file, JSON.stringify(config));
  const tokens = { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN };
  const first = await startProcess(file, {});
  const dead = new Promise<void>((resolve) => first.child.once("exit", () => resolve()));
  kills.push(() => void first.child.kill("SIGKILL"));
  const { body } = await createClient(first.url, tokens).post("alerts", { session: "s", text: "First." });
  await dead;
  const client = await openService(folder);
  const event = await client.settled(body.eventId);
  const { body: next } = await client.post("alerts", { session: "s", text: "Second." });
  const later = await client.settled(next.eventId);
  for (const [name, { count }] of cases) {
    const threadOf = ({ deliveries }: typeof event) =>
      deliveries.find(({ channel }: { channel: string }) => channel === name).route.thread;
    expect([name, await count(), threadOf(event)]).toEqual([name, 1, expect.any(String)]);
    expect(threadOf(later)).toBe(threadOf(event));
  }
  await client.close();
  for (const proxy of proxies) proxy.close();
  await Promise.all(servers.map((server) => server.close()));
});
