import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createPostgresUrl } from "../../test/support/postgres.ts";
import { migrateJournal } from "../stores/migration/migrate.ts";
import { createPostgresJournal } from "../stores/postgres/postgres.ts";
import { createSqliteJournal } from "../stores/sqlite/sqlite.ts";
import { silentTelemetry } from "../core/telemetry/telemetry.ts";
import { openMailSources } from "./migration.ts";
import { openPostgresMailStore } from "./postgres-store.ts";
import { type MailStore, openMailStore } from "./store.ts";

const mailbox = "imap://ann@mail.example.com";
const telemetry = silentTelemetry;

let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-mail-migration-"));
  await (await createSqliteJournal({ folder, telemetry })).close();
});
afterEach(() => rmSync(folder, { recursive: true }));

function migrate(url: string) {
  const onProgress = () => undefined;
  return migrateJournal({ folder, url, openOthers: openMailSources, log: telemetry.log, onProgress });
}

test("the database knows the mails, the mails set aside, the position and the refresh token", async () => {
  const store = (await openMailStore({ folder, mailbox }))!;
  await store.folder("INBOX");
  const refused = { id: "b", status: 400, code: "invalid", eventId: undefined, at: 1, tries: 2 };
  await store.record({ folder: "INBOX", ids: ["a", "b"], setAside: [refused], position: "7" });
  await store.refreshTokens.replace("configured", "newer");
  const before = await describeStore(store);
  await store.close();

  const url = await createPostgresUrl();
  await migrate(url);
  const journal = await createPostgresJournal({ url, maxConnections: 3, commitTimeoutMs: 60_000, telemetry });
  const after = (await openPostgresMailStore({ journal, mailbox }))!;
  expect(await describeStore(after)).toEqual(before);
  await after.record({ folder: "INBOX", ids: ["c"], setAside: [refused], position: "8" });
  expect(await describeStore(after)).toMatchObject({ known: ["a", "b", "c"], folder: { setAside: 1, position: "8" } });
  await after.close();
  await journal.close();
});

test("a mailbox that a process watches is refused", async () => {
  const store = (await openMailStore({ folder, mailbox }))!;
  const migrated = migrate(await createPostgresUrl());
  await expect(migrated).rejects.toThrow("another process watches a mailbox: stop `npx hookline mail run` first");
  await store.close();
});

async function describeStore(store: MailStore): Promise<object> {
  return {
    folder: await store.folder("INBOX"),
    known: [...(await store.findKnown(["a", "b", "c"]))].toSorted(),
    token: await store.refreshTokens.find("configured"),
    otherToken: await store.refreshTokens.find("another"),
  };
}
