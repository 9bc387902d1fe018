import { expect, test } from "vitest";
import { open as openPostgres } from "../../test/contracts/journal/openers/postgres.ts";
import { describeMailStore, type OpenMailStore } from "../../test/contracts/mail-store.ts";
import { type LentDatabase, lendDatabase } from "../../test/support/lent-database.ts";
import { createPostgresJournal } from "../stores/postgres/postgres.ts";
import { silentTelemetry } from "../core/telemetry/telemetry.ts";
import type { MailStore } from "./store.ts";
import { createPostgresRefreshTokens, openPostgresMailStore } from "./postgres-store.ts";

/** Each store belongs to another node. */
const open: OpenMailStore = async ({ folder, ...options }) => {
  const journal = await openPostgres(folder);
  const store = await openPostgresMailStore({ journal, ...options });
  if (!store) await journal.close();
  return store && { ...store, close: () => store.close().then(() => journal.close()) };
};

describeMailStore("PostgreSQL", open);

test("a node whose lease ended while another node has the mailbox stores nothing, and takes over from it later", async () => {
  const database = await lendDatabase();
  const [first, second] = [await openJournal(database, 1), await openJournal(database)];
  const mailbox = "imap://ann@mail.example.com";
  const old = await openStore(first, mailbox);
  await expect.poll(() => openPostgresMailStore({ journal: second, mailbox }).then(Boolean)).toBe(true);
  await first.renewNode(60_000);
  const result = { folder: "INBOX", ids: ["a"], setAside: [], position: "1" };
  await expect(old.record(result)).rejects.toThrow("another node watches this mailbox");
  await second.close();
  await old.folder("INBOX");
  await old.record(result);
  expect(await old.folder("INBOX")).toMatchObject({ position: "1" });
  await first.close();
});

test("refresh tokens are stored and found also while another node has the mailbox", async () => {
  const database = await lendDatabase();
  const [first, second] = [await openJournal(database), await openJournal(database)];
  const mailbox = "imap://ann@mail.example.com";
  const store = await openStore(first, mailbox);
  await createPostgresRefreshTokens({ journal: second, mailbox }).replace("configured", "next");
  expect(await store.refreshTokens.find("configured")).toBe("next");
  expect(await createPostgresRefreshTokens({ journal: second, mailbox }).find("other")).toBeUndefined();
  await Promise.all([first.close(), second.close()]);
});

async function openStore(journal: Awaited<ReturnType<typeof openJournal>>, mailbox: string): Promise<MailStore> {
  const store = await openPostgresMailStore({ journal, mailbox });
  if (!store) throw new Error("another node has the mailbox");
  return store;
}

function openJournal(database: LentDatabase, firstLeaseMs = 60_000) {
  return createPostgresJournal({
    ...database,
    maxConnections: 3,
    commitTimeoutMs: 60_000,
    telemetry: silentTelemetry,
    firstLeaseMs,
    pollMs: 3_600_000,
  });
}
