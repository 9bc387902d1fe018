import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { describeMailStore, type OpenMailStore } from "../../test/contracts/mail-store.ts";
import { createPostgresUrl } from "../../test/support/postgres.ts";
import { createPostgresJournal } from "../stores/postgres/postgres.ts";
import { silentTelemetry } from "../core/telemetry/telemetry.ts";
import type { MailStore } from "./store.ts";
import { createPostgresRefreshTokens, openPostgresMailStore } from "./postgres-store.ts";

/** Each store belongs to another node. */
const open: OpenMailStore = async ({ folder, ...options }) => {
  const journal = await openJournal(await findUrl(folder));
  const store = await openPostgresMailStore({ journal, ...options });
  if (!store) await journal.close();
  return store && { ...store, close: () => store.close().then(() => journal.close()) };
};

describeMailStore("PostgreSQL", open);

test("a node whose lease ended while another node has the mailbox stores nothing, and takes over from it later", async () => {
  const url = await createPostgresUrl();
  const [first, second] = [await openJournal(url, 1), await openJournal(url)];
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
  const url = await createPostgresUrl();
  const [first, second] = [await openJournal(url), await openJournal(url)];
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

function openJournal(url: string, firstLeaseMs = 60_000) {
  return createPostgresJournal({
    url,
    maxConnections: 3,
    commitTimeoutMs: 60_000,
    telemetry: silentTelemetry,
    firstLeaseMs,
    pollMs: 3_600_000,
  });
}

async function findUrl(folder: string): Promise<string> {
  const file = path.join(folder, "url");
  try {
    return readFileSync(file, "utf8");
  } catch {
    const url = await createPostgresUrl();
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, url);
    return url;
  }
}
