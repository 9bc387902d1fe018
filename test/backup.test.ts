import { copyFileSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { runWebhooks } from "./support/cli.ts";
import { startImapServer } from "./support/imap-server.ts";
import { folderStatus, idsOfRuns, numbered, toBytes, toMailConfig } from "./support/mail-service.ts";
import { type Service, type ServiceOptions, startService } from "./support/service.ts";

test("a backup of a running service is consistent, and a service starts from it", async () => {
  const service = await startService();
  let restored: Service | undefined;
  try {
    const before = await post(service);
    const stop = new AbortController();
    const load = (async () => {
      const ids: string[] = [];
      while (!stop.signal.aborted) ids.push(...(await post(service)));
      return ids;
    })();
    const made = await runWebhooks(service.folder, "backup", "safe.db");
    stop.abort();
    const during = await load;
    expect(made).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/safe\.db: \d+ bytes, schema version 1, checked/),
    });

    const file = path.join(service.folder, "safe.db");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(service.folder).filter((name) => name.startsWith("safe"))).toEqual(["safe.db"]);
    expectSound(file);

    restored = await startService({
      prepare(folder) {
        mkdirSync(path.join(folder, ".webhooks"), { mode: 0o700 });
        copyFileSync(file, path.join(folder, ".webhooks/journal.db"));
      },
    });
    for (const id of before) expect(await restored.settled(id)).toMatchObject({ status: "done" });
    // In the order of arrival: no gap, only an end.
    const kept = new Set(await readIds(restored));
    const found = during.map((id) => kept.has(id));
    expect(found.lastIndexOf(true)).toBe(found.filter(Boolean).length - 1);
    expect((await restored.post("wake", { text: "after" })).status).toBe(200);
  } finally {
    await restored?.close();
    await service.close();
  }
});

test("a backup contains mailbox positions: after a restore each mail is posted once", async () => {
  const server = await startImapServer();
  const services: Service[] = [];
  const start = async (options: ServiceOptions = {}): Promise<Service> => {
    const service = await startService({ config: toMailConfig(server), ...options });
    services.push(service);
    return service;
  };
  const arrived = async (service: Service, ...sent: string[]): Promise<void> => {
    await expect.poll(() => idsOfRuns(service)).toEqual(sent);
    await expect.poll(() => folderStatus(service)).toMatchObject({ state: "watching" });
  };
  try {
    const first = await start();
    await arrived(first);
    const [before, after] = [numbered("a", 3), numbered("b", 2)];
    for (const id of before) server.append("INBOX", toBytes(id));
    await arrived(first, ...before);
    expect(await runWebhooks(first.folder, "backup", "safe.db")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /safe\.db\.mail: \d+ bytes, schema version 1, checked\.\n.*safe\.db: \d+ bytes, schema version 1, checked/,
      ),
    });
    expect(statSync(path.join(first.folder, "safe.db.mail")).mode & 0o777).toBe(0o600);
    for (const id of after) server.append("INBOX", toBytes(id));
    await arrived(first, ...before, ...after);
    await first.hookline.close();

    const restored = await start({
      prepare(folder) {
        mkdirSync(path.join(folder, ".webhooks"), { mode: 0o700 });
        for (const [from, to] of [
          ["safe.db", "journal.db"],
          ["safe.db.mail", "mail.db"],
        ] as const)
          copyFileSync(path.join(first.folder, from), path.join(folder, ".webhooks", to));
      },
    });
    await arrived(restored, ...before, ...after);
    await expect.poll(() => folderStatus(restored)).toMatchObject({ posted: after.length });
  } finally {
    for (const service of services) await service.close();
    await server.close();
  }
});

test("a backup has both files or none", async () => {
  const service = await startService();
  try {
    const { folder } = service;
    copyFileSync(path.join(folder, ".webhooks/journal.db"), path.join(folder, ".webhooks/mail.db"));
    service.write("safe.db", "mine");
    expect(await runWebhooks(folder, "backup", "safe.db")).toMatchObject({ code: 1 });
    expect(readdirSync(folder).filter((name) => name.startsWith("safe"))).toEqual(["safe.db"]);
    service.write("other.db.mail", "mine");
    expect(await runWebhooks(folder, "backup", "other.db")).toMatchObject({ code: 1 });
    expect(readdirSync(folder).filter((name) => name.startsWith("other"))).toEqual(["other.db.mail"]);
  } finally {
    await service.close();
  }
});

test("a backup does not overwrite files, and requires a journal", async () => {
  const service = await startService();
  try {
    expect(await runWebhooks(service.folder, "backup", "webhooks.json5")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("exists already"),
    });
    const gone = await runWebhooks(service.folder, "backup", "no/such/folder/safe.db");
    expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining("cannot be written") });
    service.write("elsewhere.json", JSON.stringify({ store: { path: "./empty" } }));
    const none = await runWebhooks(service.folder, "backup", "safe.db", "--config", "elsewhere.json");
    expect(none).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("journal.db: The file does not exist"),
    });
    expect(existsSync(path.join(service.folder, "safe.db"))).toBe(false);
  } finally {
    await service.close();
  }
});

/** Sequentially, so that the order is known. */
async function post(service: Service): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < 20; index += 1) {
    const { body } = await service.post("agent", { message: "x".repeat(500), deliver: false });
    ids.push(body.eventId);
  }
  return ids;
}

/** Page after page: on a fast disk there are thousands. */
async function readIds(service: Service): Promise<string[]> {
  const ids: string[] = [];
  for (let before = ""; ; before = `&before=${ids.at(-1)}`) {
    const { events } = await service.api(`/api/events?limit=1000${before}`);
    ids.push(...events.map(({ id }: { id: string }) => id));
    if (events.length < 1000) return ids;
  }
}

function expectSound(file: string): void {
  using copy = new DatabaseSync(file, { readOnly: true });
  expect(copy.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
}
