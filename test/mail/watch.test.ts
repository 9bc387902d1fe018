/** Mails from a mailbox to runs, through the whole service: each is run once despite failures. */
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ImapServer, startImapServer } from "../support/imap-server.ts";
import { folderStatus, idsOfRuns, numbered, toBytes, toMailConfig } from "../support/mail-service.ts";
import { type Service, startService } from "../support/service.ts";

let server: ImapServer;
let service: Service;

beforeEach(async () => {
  server = await startImapServer();
});
afterEach(async () => {
  await service.close();
  await server.close();
});

test("runs new mails, and none from before its first start", async () => {
  sendOld("old-1");
  await start();
  await watching();
  send("new-1", "new-2");
  await expect.poll(ids).toEqual(["new-1", "new-2"]);
  await expect.poll(() => folderStatus(service)).toMatchObject({ folder: "INBOX", posted: 2, setAside: 0 });
  expect(await service.api("/api/status")).toMatchObject({
    mail: [{ name: "imap", mailbox: `imap://ann@example.com@127.0.0.1:${server.port}`, state: "watching" }],
  });
});

test("the agent gets the mail, and the event shows it", async () => {
  await start();
  await watching();
  send("m-1");
  await expect.poll(ids).toEqual(["m-1"]);
  const { events } = await service.api("/api/events?hook=mail");
  const event = await service.settled(events[0].id);
  expect(event.request.payload).toMatchObject({
    source: "imap",
    messages: [{ messageId: "m-1", sender: "bob@example.org" }],
  });
  const { id } = event.request.payload.messages[0];
  expect(id).toMatch(/^m-1#[0-9a-f]{16}$/);
  const { entries } = await service.api(`/api/sessions/${encodeURIComponent(`hook:mail:${id}`)}`);
  expect(entries[0].text).toContain("Subject: Mail m-1");
});

test("a stranger's mail with a guessed Message-ID does not suppress the real one; a repeat is counted", async () => {
  await start();
  await watching();
  server.append("INBOX", toBytes("m-1", { from: "Eve <eve@example.net>" }));
  await expect.poll(ids).toEqual(["m-1"]);
  server.append("INBOX", toBytes("m-1"));
  await expect.poll(ids).toEqual(["m-1", "m-1"]);
  server.append("INBOX", toBytes("m-1"));
  await expect.poll(() => folderStatus(service)).toMatchObject({ posted: 2, repeated: 1 });
  const { sessions } = await service.api("/api/sessions");
  expect(sessions.filter(({ key }: { key: string }) => key.startsWith("hook:mail:m-1#"))).toHaveLength(2);
  expect(await ids()).toHaveLength(2);
});

test("runs older mails within the lookback", async () => {
  sendOld("old-1");
  await start(toMailConfig(server, { lookback: "2h" }));
  await expect.poll(ids).toEqual(["old-1"]);
});

test("catches up in batches after a stop", async () => {
  await start();
  await watching();
  send("a-0");
  await expect.poll(ids).toEqual(["a-0"]);
  await service.hookline.close();
  const missed = numbered("b", 70);
  send(...missed);
  service = await service.restart();
  await expect.poll(ids).toEqual(["a-0", ...missed]);
  const { events } = await service.api("/api/events?hook=mail");
  expect(events).toHaveLength(1 + Math.ceil(70 / 20));
});

test("runs each mail once although connections are cut", async () => {
  await start();
  await watching();
  const sent = numbered("c", 40);
  for (const [index, id] of sent.entries()) {
    send(id);
    if (index % 10 === 5) {
      server.dropConnections();
      await expect.poll(async () => (await ids()).length).toBeGreaterThan(index);
    }
  }
  await expect.poll(ids).toEqual(sent);
});

test("runs each mail once although the server assigns new uids", async () => {
  const sent = numbered("d", 30);
  await start();
  await watching();
  send(...sent);
  await expect.poll(ids).toEqual(sent);
  server.newUidValidity("INBOX");
  send("d-new");
  await expect.poll(ids).toEqual([...sent, "d-new"]);
  await watching();
});

test("the hook recognizes a mail that is posted again after a crash", async () => {
  const sent = numbered("r", 30);
  await start(toMailConfig(server, { lookback: "1h" }));
  send(...sent);
  await expect.poll(ids).toEqual(sent);
  await service.hookline.close();
  removeStore();
  send("r-new");
  service = await service.restart();
  await expect.poll(ids).toEqual([...sent, "r-new"]);
  await expect.poll(() => folderStatus(service)).toMatchObject({ posted: 1, repeated: 30 });
});

test("a broken store does not stop the hooks, and mails arrive once it is fixed", async () => {
  await start();
  await service.hookline.close();
  removeStore();
  const file = path.join(stateFolder(), "mail.db");
  writeFileSync(file, "this is no database ".repeat(100));
  service = await service.restart();
  await expect
    .poll(() => folderStatus(service))
    .toMatchObject({ state: "store-failed", error: expect.stringContaining("mail.db") });
  expect((await service.post("wake", { text: "x" })).status).toBe(200);
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
  rmSync(file);
  await watching();
  send("m-1");
  await expect.poll(ids).toEqual(["m-1"]);
});

describe("a refused login", () => {
  test("shows in status and readiness, and is retried after a reload", async () => {
    server.refuseLogins(true);
    await start();
    await expect
      .poll(() => folderStatus(service))
      .toMatchObject({ state: "login-refused", nextTryAt: expect.any(String) });
    expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
    const [mail] = (await service.api("/api/status")).mail;
    expect(mail).toMatchObject({ state: "login-refused", error: expect.any(String) });
    expect(JSON.stringify(mail)).not.toContain(server.password);

    server.refuseLogins(false);
    await service.hookline.reload();
    await watching();
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    send("m-1");
    await expect.poll(ids).toEqual(["m-1"]);
  });

  test("recovers with the correct password", async () => {
    await start(toMailConfig(server, { source: { password: "wrong" } }));
    await expect.poll(() => folderStatus(service)).toMatchObject({ state: "login-refused" });
    write(toMailConfig(server));
    await service.hookline.reload();
    await watching();
    send("m-1");
    await expect.poll(ids).toEqual(["m-1"]);
  });
});

test("a server without TLS is reported, and gets no password", async () => {
  await start(toMailConfig(server, { source: { tls: "implicit" } }));
  await expect.poll(() => folderStatus(service)).toMatchObject({ state: "tls-failed" });
  expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
  expect(server.commands()).not.toContain("LOGIN");
  write(toMailConfig(server));
  await service.hookline.reload();
  await watching();
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
});

test("a missing folder is reported", async () => {
  await start(toMailConfig(server, { source: { folders: ["INBOX", "Nowhere"] } }));
  await expect.poll(async () => (await service.api("/api/status")).mail[0].state).toBe("mailbox-gone");
  expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
  await watching();
  send("m-1");
  await expect.poll(ids).toEqual(["m-1"]);
});

function start(config = toMailConfig(server)): Promise<unknown> {
  return startService({ config }).then((started) => (service = started));
}

function stateFolder(): string {
  return path.join(service.folder, ".webhooks");
}

function removeStore(): void {
  const names = readdirSync(stateFolder()).filter((name) => name.startsWith("mail.db"));
  for (const name of names) rmSync(path.join(stateFolder(), name));
}

function write(config: object): void {
  service.write("webhooks.json5", JSON.stringify(config));
}

function send(...mails: string[]): void {
  for (const id of mails) server.append("INBOX", toBytes(id));
}

/** Mails from an hour ago. */
function sendOld(id: string): void {
  server.append("INBOX", toBytes(id), { receivedAt: new Date(Date.now() - 3_600_000) });
}

function ids(): Promise<string[]> {
  return idsOfRuns(service);
}

async function watching(): Promise<void> {
  await expect.poll(() => folderStatus(service)).toMatchObject({ folder: "INBOX", state: "watching" });
}
