/** One thing that happened is one turn and one answer: what registration subscribes to, sent as the sender sends it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../src/cli/main.ts";
import { readEnvFile } from "../src/core/config/env-file.ts";
import { createTestIo } from "./support/cli.ts";
import { type Service, startService, withTokens } from "./support/service.ts";
import { signAs } from "./support/sign-preset.ts";
import { readPreset } from "../src/core/config/presets/file.ts";
import { startVendor, TOKEN } from "./support/vendors/hook-vendors.ts";
import { type Delivery, THINGS } from "./support/vendors/one-thing.ts";

const PUBLIC_URL = "https://127.0.0.1:9";
const PLACES: Record<string, string> = {
  github: "acme/app",
  gitlab: "acme/app",
  gitea: "acme/app",
  bitbucket: "acme/app",
  shopify: "acme.myshopify.com",
  zendesk: "acme",
  azuredevops: "acme/My shop",
};
const RECIPIENT = { channel: "signal", to: "+15551234567" };

let folder: string;
let service: Service;
const subscribed: Record<string, string[]> = {};
const secrets: Record<string, string> = {};

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-one-turn-"));
  writeFileSync(
    path.join(folder, "webhooks.json5"),
    JSON.stringify(withTokens({ gateway: { publicUrl: PUBLIC_URL } })),
  );
  for (const name of Object.keys(THINGS)) await (name === "slack" ? registerSlack() : register(name));
  const presets = Object.entries(secrets).map(([use, secret]) => {
    const from = readPreset(use).preset.from && { from: "anyone" };
    return { use, with: { secret, ...from, ...RECIPIENT } };
  });
  const channels = { signal: { dryRun: true } };
  service = await startService({ config: { gateway: { publicUrl: PUBLIC_URL }, hooks: { presets }, channels } });
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

async function register(name: string): Promise<void> {
  const vendor = await startVendor(name);
  const place = PLACES[name] === undefined ? [] : [PLACES[name]];
  const given = ["--token", TOKEN, "--with", `apiUrl=${vendor.url}`, "--yes"];
  const secret = name === "shopify" ? ["--secret", "shpss_secret-of-the-app"] : [];
  const args = ["presets", "enable", name, "--register", ...place, ...given, ...secret];
  await webhooks(args);
  subscribed[name] = vendor.hooks.flatMap(({ events }) => events);
  secrets[name] = readEnvFile(path.join(folder, ".env"))[`${name.toUpperCase()}_SECRET`] ?? "";
  await vendor.close();
}

/** A person makes the app from the manifest. */
async function registerSlack(): Promise<void> {
  const args = ["presets", "enable", "slack", "--register", "--generate", "--yes"];
  const [, manifest = ""] = /manifest_json=(\S+)/.exec(await webhooks(args)) ?? [];
  subscribed["slack"] = JSON.parse(decodeURIComponent(manifest)).settings.event_subscriptions.bot_events;
  secrets["slack"] = readFileSync(path.join(folder, ".webhooks/slack-secret"), "utf8").trim();
}

async function webhooks(args: string[]): Promise<string> {
  const { io, stdout, stderr } = createTestIo(folder);
  expect({ code: await runCli(args, io), stderr: stderr() }).toMatchObject({ code: 0 });
  return stdout();
}

const rows = Object.entries(THINGS).flatMap(([name, things]) =>
  Object.entries(things).map(([thing, deliveries]) => ({ name, thing, deliveries })),
);

test.concurrent.each(rows)("$name: $thing", async ({ name, deliveries }) => {
  const sent = deliveries.filter(({ subscription }) => subscribed[name]?.includes(subscription));
  expect(sent.length).toBeGreaterThan(0);
  const events = [];
  for (const delivery of sent) events.push(await deliver(name, delivery));
  const settled = await Promise.all(events.map(untilSettled));
  const runs = settled.flatMap(({ runs: own }) => own);
  const turns = new Set(runs.map(({ id }) => id)).size;
  expect({ turns, events: settled.map(({ event, reason }) => `${event}: ${reason}`) }).toMatchObject({ turns: 1 });
  const replies = settled.flatMap(({ deliveries: own }) => own);
  expect(new Set(replies.map(({ id }) => id)).size).toBe(1);
});

let waiting: Promise<unknown> = Promise.resolve();

/** One question at a time, whatever the number of rows that wait. */
function untilSettled(event: string): ReturnType<Service["settled"]> {
  const settled = waiting.then(() => service.settled(event));
  waiting = settled.catch(() => undefined);
  return settled;
}

async function deliver(name: string, { payload, headers }: Delivery): Promise<string> {
  const url = `${PUBLIC_URL}/hooks/${name}`;
  const body = Buffer.from(JSON.stringify(payload));
  const signed = await signAs(name, body, { secret: secrets[name] ?? "", url });
  const answer = await fetch(`${service.url}/hooks/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers, ...signed.headers },
    body: new Uint8Array(signed.body ?? body),
  });
  expect(answer.status).toBeLessThan(300);
  // A repeat has no event of its own.
  const text = await answer.text();
  return answer.headers.has("idempotency-replayed")
    ? JSON.parse(text).eventId
    : (answer.headers.get("x-request-id") ?? "");
}
