/** `catchUp: true`: what senders could not deliver while no node was ready, against doubles that fail deliveries. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { startWebhooks } from "./support/cli.ts";
import { createClient, waitFor } from "./support/client.ts";
import { withClock } from "./support/clock.ts";
import { createPostgresUrl } from "./support/postgres.ts";
import { startGithubSender, startGitlabSender, startStripeSender } from "./support/vendors/missed-events.ts";
import { startProcess } from "./support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, openService, type Service, withTokens } from "./support/service.ts";

const SECRET = "a-signing-secret-of-good-length";
const TOKEN = "an-api-token-for-tests";

let folder: string;
let port: number;
let service: Service | undefined;
/** By how much the events of senders are in the past, so that a gap of minutes needs no waiting. */
let agoMs: number;
const now = (): number => Date.now() - agoMs;
const cleanUp: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  agoMs = 0;
  folder = mkdtempSync(path.join(tmpdir(), "hookline-gap-"));
  port = await findPort();
});
afterEach(async () => {
  await stop();
  for (const close of cleanUp.splice(0)) await close();
  rmSync(folder, { recursive: true, force: true });
});

async function findPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}

const url = (): string => `http://127.0.0.1:${port}`;
const hookUrl = (name: string): string => `${url()}/hooks/${name}`;
const hookOf = (name: string) => ({ url: hookUrl(name), secret: SECRET, token: TOKEN, now });

function writeConfig(presets: Record<string, object>, more: UserConfig = {}): string {
  const uses = Object.entries(presets).map(([use, options]) => ({
    use,
    with: { secret: SECRET, apiToken: TOKEN, catchUp: true, ...options },
  }));
  const file = path.join(folder, "webhooks.json5");
  const gateway = { publicUrl: url() };
  writeFileSync(file, JSON.stringify(withTokens({ gateway, hooks: { presets: uses }, ...more })));
  return file;
}

const client = () => createClient(url(), { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });

/** Starts a service that was never ready, or that this many minutes pass for before it is ready again. */
async function start(minutes = 0): Promise<void> {
  if (minutes > 0) beReadyEarlier(minutes * 60_000);
  const before = readReady();
  service = await openService(folder, { port });
  await waitFor(() => readReady() > before);
}

async function stop(): Promise<void> {
  await service?.hookline.close();
  service = undefined;
}

/** The requests of events never change, so each is read once. */
const known = new Map<string, string>();

/** How often each delivery is there, of those that were not answered as a repeat. */
async function readArrived(hook: string, idOf: (event: ReturnType<typeof JSON.parse>) => string): Promise<string[]> {
  const { events } = await client().api(`/api/events?hook=${hook}&limit=1000`);
  const all: string[] = [];
  for (const { id } of events) {
    const arrived = known.get(id) ?? idOf(await client().api(`/api/events/${id}`));
    known.set(id, arrived);
    all.push(arrived);
  }
  return all.toSorted();
}
const githubId = ({ request }: ReturnType<typeof JSON.parse>): string => request.headers["x-github-delivery"];
const stripeId = ({ request }: ReturnType<typeof JSON.parse>): string => request.payload.id;

test("a short stop is no gap; after an outage under load, and a kill in the middle of the catch-up, nothing is missing or there twice", async () => {
  const github = await startGithubSender(hookOf("github"));
  const stripe = await startStripeSender(hookOf("stripe"));
  cleanUp.push(github.close, stripe.close);
  const file = writeConfig({ github: { apiUrl: github.url, place: "acme/shop" }, stripe: { apiUrl: stripe.url } });
  const sent = { github: [] as string[], stripe: [] as string[] };
  const emit = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      sent.github.push(await github.emit());
      sent.stripe.push(await stripe.emit());
    }
  };
  agoMs = 12 * 60_000;
  await start();
  await stop();
  await emit(1);
  await start(1);
  expect([countNotes("catch-up"), github.repeated]).toEqual([0, []]);

  await emit(2);
  const load = emit(2);
  await stop();
  await load;
  for (let count = 0; count < 4; count++) {
    agoMs -= 3 * 60_000;
    await emit(1);
  }
  beReadyEarlier(12 * 60_000);
  const killed = await startProcess(file, {}, port);
  const more = emit(3);
  // GitHub is asked for one in a second.
  await expect.poll(() => github.repeated.length).toBeGreaterThan(1);
  await killed.end("SIGKILL");
  await start();
  await more;

  await expect.poll(() => readArrived("github", githubId)).toEqual(sent.github.toSorted());
  await expect.poll(() => readArrived("stripe", stripeId)).toEqual(sent.stripe.toSorted());
  // Stripe tries for days what was answered by nobody.
  await stripe.retry();
  await expect.poll(() => countNotes("catch-up")).toBe(0);
  expect(await readArrived("stripe", stripeId)).toEqual(sent.stripe.toSorted());
  expect(await readArrived("github", githubId)).toEqual(sent.github.toSorted());

  const { events } = await client().api("/api/events?hook=stripe&limit=1000");
  const all = await Promise.all(events.map(({ id }: { id: string }) => client().api(`/api/events/${id}`)));
  const caughtUp = all.filter(({ request }) => request.client === "catch-up");
  expect(caughtUp.length).toBeGreaterThan(0);
  expect(new Set(all.map(({ credential }) => credential))).toEqual(new Set(["auth:stripe"]));
});

test("GitLab: what was logged arrives again, and what cannot be found is said", async () => {
  const gitlab = await startGitlabSender(hookOf("gitlab"));
  cleanUp.push(gitlab.close);
  writeConfig({ gitlab: { apiUrl: gitlab.url, place: "acme/shop" } });
  agoMs = 10 * 60_000;
  await start();
  const first = await gitlab.emit();
  await stop();
  const lost: string[] = [];
  for (let n = 0; n < 6; n++) lost.push(await gitlab.emit());
  agoMs = 0;
  gitlab.enable();
  await start(10);
  await expect.poll(() => gitlab.repeated.length).toBeGreaterThan(0);
  const key = ({ request }: ReturnType<typeof JSON.parse>): string => request.headers["idempotency-key"];
  await expect.poll(() => readArrived("gitlab", key)).toEqual([first, ...lost.slice(0, 1)].toSorted());

  const args = ["events", "catch-up", "gitlab", "--url", url(), "--since", "1h", "--dry-run", "--json"];
  const asked = await startWebhooks(folder, args).ended;
  const { missed, notes } = JSON.parse(asked.stdout);
  expect(missed.map(({ guid }: { guid: string }) => guid)).toEqual(lost.slice(1, 4));
  expect(notes).toEqual([expect.stringMatching(/what happened between \d{4}-\S+Z and \d{4}-\S+Z cannot be found/)]);
});

test("events catch-up stripe gets what is missing once, and says that the API version differs", async () => {
  const stripe = await startStripeSender(hookOf("stripe"));
  cleanUp.push(stripe.close);
  writeConfig({ stripe: { apiUrl: stripe.url, catchUp: false } });
  const missed = await stripe.emit();
  await start();
  const arrived = await stripe.emit();
  const args = ["events", "catch-up", "stripe", "--url", url(), "--since", "1h"];
  const { code, stdout, stderr } = await startWebhooks(folder, args).ended;
  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("The service gets 1 event again."),
  });
  expect(stderr).toContain("API version 2025-01-01, but those of the endpoint have 2026-01-01");
  await expect.poll(() => readArrived("stripe", stripeId)).toEqual([missed, arrived].toSorted());
  expect((await startWebhooks(folder, args).ended).stdout).toContain("has arrived");
});

test("of several nodes, whose clocks differ, one finds a gap, and only a real one", async () => {
  const store = { url: await createPostgresUrl() };
  // Nobody is at this address, so a catch-up goes on.
  const file = writeConfig({ github: { apiUrl: "http://127.0.0.1:1", place: "acme/shop" } }, { store });
  const database = new Client(store.url);
  await database.connect();
  cleanUp.push(() => database.end());
  const isReady = (since: number) => async () => {
    const { rows } = await database.query("SELECT value FROM hookline.notes WHERE kind = 'ready' AND key = 'last'");
    return Number(rows[0]?.value ?? 0) > since;
  };
  const countGaps = async (): Promise<number | null> =>
    (await database.query("SELECT 1 FROM hookline.notes WHERE kind = 'catch-up'")).rowCount;

  const first = await openService(folder);
  await expect.poll(isReady(0)).toBe(true);
  const ahead = await startProcess(file, withClock(10 * 60_000));
  await expect.poll(isReady(Date.now() + 5 * 60_000)).toBe(true);
  expect(await countGaps()).toBe(0);
  await Promise.all([first.hookline.close(), ahead.end("SIGTERM")]);

  // The time without a node has passed.
  await database.query("UPDATE hookline.notes SET value = '1000' WHERE kind = 'ready' AND key = 'last'");
  await database.query("UPDATE hookline.notes SET expires_at = 0 WHERE kind = 'ready' AND key = 'recent'");
  const both = await Promise.all([openService(folder), openService(folder)]);
  await expect.poll(isReady(1000)).toBe(true);
  // The end waits for the check of both.
  await Promise.all(both.map(({ hookline }) => hookline.close()));
  expect(await countGaps()).toBe(1);
});

test.each([
  [{ github: { apiToken: undefined, place: "acme/shop" } }, "catchUp needs a stored token"],
  [{ github: {} }, "catchUp needs to know where the webhook is"],
  [{ telegram: {} }, 'The key "catchUp" is unknown'],
])("%j is refused at load", async (presets, message) => {
  writeConfig(presets);
  expect(await startWebhooks(folder, ["check"]).ended).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(message),
  });
});

/** Notes that no node has been ready for that long. Nobody has the journal open. */
function beReadyEarlier(ms: number): void {
  using database = new DatabaseSync(journalFile());
  database.exec(`UPDATE notes SET value = value - ${ms} WHERE kind = 'ready' AND key = 'last'`);
  database.exec(`UPDATE notes SET expires_at = expires_at - ${ms} WHERE kind = 'ready' AND key = 'recent'`);
}

const journalFile = (): string => path.join(folder, ".webhooks/journal.db");

function readNotes(kind: string): { value: string }[] {
  if (!existsSync(journalFile())) return [];
  using database = new DatabaseSync(journalFile(), { readOnly: true });
  return database.prepare("SELECT value FROM notes WHERE kind = ?").all(kind) as { value: string }[];
}

/** 0: no node was ready yet. */
function readReady(): number {
  return Number(readNotes("ready")[0]?.value ?? 0);
}

function countNotes(kind: string): number {
  return readNotes(kind).length;
}
