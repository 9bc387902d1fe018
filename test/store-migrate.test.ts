import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { createDatabase, type PostgresDatabase } from "../src/stores/postgres/database.ts";
import { silentLog } from "../src/core/telemetry/log.ts";
import { open as openSqlite } from "./contracts/journal/openers/sqlite.ts";
import { nextId, sampleEvent, sampleRun } from "./contracts/journal/samples.ts";
import { runWebhooks } from "./support/cli.ts";
import { type ExternalServices, startExternalServices } from "./support/external-services.ts";
import { createGate } from "./support/gate.ts";
import { type ImapServer, startImapServer } from "./support/imap-server.ts";
import { folderStatus, idsOfRuns, numbered, toBytes, toMailConfig } from "./support/mail-service.ts";
import { createPostgresUrl } from "./support/postgres.ts";
import { spawnWebhooks } from "./support/process.ts";
import { startService, withTokens } from "./support/service.ts";

const closing: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

function toConfig(server: ImapServer, model: string, external: ExternalServices, store: object): UserConfig {
  return {
    ...toMailConfig(server),
    agents: {
      providers: { local: { kind: "openai-compatible", baseUrl: model } },
      defaults: { model: "local/double", maxAttempts: 100 },
    },
    channels: { slack: { token: "xoxb-000000000000-test", baseUrl: external.slackUrl } },
    store,
  };
}

test("a service on PostgreSQL continues what it began on the file", async () => {
  const server = await startImapServer();
  const external = await startExternalServices({
    hold: async () => undefined,
    reply: (asked) => (asked.includes("Later.") ? "I waited." : "Done."),
  });
  closing.push(
    () => server.close(),
    () => external.close(),
  );
  const mails = numbered("a", 3);
  const away = "http://127.0.0.1:1/v1";
  const first = await startService({ config: toConfig(server, external.modelUrl, external, {}) });
  closing.push(() => first.close());
  await expect.poll(() => folderStatus(first)).toMatchObject({ state: "watching" });
  for (const id of mails) server.append("INBOX", toBytes(id));
  await expect.poll(() => idsOfRuns(first)).toEqual(mails);
  const turn = { message: "q1", sessionKey: "talk", deliver: false };
  const done = await first.post("agent", turn, { "idempotency-key": "once" });
  await first.settled(done.body.eventId);
  await expect.poll(async () => (await first.api("/api/status")).queue.pendingSystemEvents).toBe(0);

  await first.reload(toConfig(server, away, external, {}));
  const delivered = { deliver: true, channel: "slack", to: "C1" };
  const open = await first.post("agent", { message: "Later.", sessionKey: "open", ...delivered });
  const wake = await first.post("wake", { text: "The disk is full.", mode: "now" });
  await first.hookline.close();

  const url = await createPostgresUrl();
  const made = await runWebhooks(first.folder, "store", "migrate", "--to", url);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^mail_known +3 +[\da-f]{32}$/m) });
  expect(made.stdout).toContain(`store: { url: "${url.replace(":secret", "")}", password: `);

  for (const id of numbered("b", 2)) server.append("INBOX", toBytes(id));
  first.write("webhooks.json5", JSON.stringify(toConfig(server, external.modelUrl, external, { url })));
  const second = await first.restart();
  closing.push(() => second.hookline.close());
  const replayed = await second.post("agent", turn, { "idempotency-key": "once" });
  expect(replayed.headers.get("idempotency-replayed")).toBe("true");
  expect(replayed.body).toEqual(done.body);
  expect(await second.settled(open.body.eventId)).toMatchObject({ status: "done", runs: [{ state: "done" }] });
  // A heartbeat after it answers to C1 too, as the last place.
  expect(external.messages.filter(({ text }) => text === "I waited.")).toMatchObject([{ to: "C1" }]);
  const main = (): Promise<string[]> =>
    second
      .api("/api/sessions/main?limit=1000")
      .then(({ entries }) => entries.map(({ text }: { text: string }) => text));
  await expect.poll(async () => (await main()).some((text) => text.includes("The disk is full."))).toBe(true);
  await expect.poll(async () => (await second.api("/api/status")).queue.pendingSystemEvents).toBe(0);
  expect(external.turns.filter(({ text }) => text.includes("The disk is full."))).toHaveLength(1);
  expect(await second.settled(wake.body.eventId)).toMatchObject({ status: "done" });
  const again = await second.post("agent", { ...turn, message: "q2" });
  await second.settled(again.body.eventId);
  expect((await second.api("/api/sessions/talk")).entries).toHaveLength(4);
  await expect.poll(() => idsOfRuns(second)).toEqual([...mails, ...numbered("b", 2)]);
});

/** A folder with a configuration and a journal of this many events, the first of them with a run. */
async function createFolder(events: number, runs: number): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-migrate-"));
  closing.push(() => rmSync(folder, { recursive: true }));
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(withTokens({})));
  mkdirSync(path.join(folder, ".webhooks"), { mode: 0o700 });
  const journal = await openSqlite(path.join(folder, ".webhooks"));
  const accept = (_: unknown, index: number) => {
    const actions = index < runs ? [sampleRun(nextId(), { deliver: false })] : [];
    return journal.accept(sampleEvent({ receivedAt: Date.now(), actions }));
  };
  await Promise.all(Array.from({ length: events }, accept));
  await journal.close();
  return folder;
}

function openDatabase(url: string): PostgresDatabase {
  // A lock is held as long as the program takes to start.
  const database = createDatabase({
    url,
    maxConnections: 2,
    commitTimeoutMs: 60_000,
    maxIdleMs: 300_000,
    log: silentLog,
  });
  closing.push(() => database.close());
  return database;
}

test("after a kill the migration continues, and what it copied before is not copied again", async () => {
  const folder = await createFolder(1010, 5);
  const url = await createPostgresUrl();
  const database = openDatabase(url);
  const config = path.join(folder, "webhooks.json5");
  const [locked, killed] = [createGate(), createGate()];
  closing.push(killed.open);
  // The command can copy the events, and waits at the runs.
  const holding = database.transact(async ({ run }) => {
    await run("LOCK TABLE hookline.runs IN SHARE MODE");
    locked.open();
    await killed.passed;
  });
  await locked.passed;
  const child = spawnWebhooks(["store", "migrate", "--config", config, "--to", url]);
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  child.stdout.resume();
  const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal ?? code)));
  const waits = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  await expect.poll(() => database.read(({ get }) => get(waits))).toBeTruthy();
  child.kill("SIGKILL");
  expect(await ended).toBe("SIGKILL");
  killed.open();
  await holding;
  expect(errors).toContain("copying events: 1000 of 1010 rows");

  const started = startService({ config: { store: { url } } });
  await expect(started).rejects.toThrow("a migration into this database is unfinished");
  const again = await runWebhooks(folder, "store", "migrate", "--to", url, "--json");
  expect(again.stderr).not.toContain("copying events");
  const { ok, tables } = JSON.parse(again.stdout);
  expect(ok).toBe(true);
  expect(tables.find(({ table }: { table: string }) => table === "runs")).toMatchObject({ rows: 5 });

  const service = await startService({ config: { store: { url } } });
  closing.push(() => service.close());
  await expect.poll(async () => (await service.api("/api/status")).queue.pendingRuns).toBe(0);
  const { runs } = await service.api("/api/runs?limit=1000&state=done");
  // A heartbeat has no event.
  expect(runs.filter(({ eventId }: { eventId?: string }) => eventId !== undefined)).toHaveLength(5);
});

test("without --to the configured database is filled, and a running service is refused", async () => {
  const folder = await createFolder(1, 1);
  const url = await createPostgresUrl();
  const service = await startService();
  closing.push(() => service.close());
  expect(await runWebhooks(service.folder, "store", "migrate", "--to", url)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/another process owns this state folder .*\. Stop it/),
  });
  expect(await runWebhooks(folder, "store", "migrate", "--to", "mysql://x/y")).toMatchObject({ code: 2 });
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(withTokens({ store: { url } })));
  expect(await runWebhooks(folder, "store", "migrate")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("store.url names this database already"),
  });
});
