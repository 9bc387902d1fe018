import { readFileSync } from "node:fs";
import { ImapFlow, type ImapFlowOptions } from "imapflow";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Dovecot, startDovecot } from "./dovecot.ts";

const ANN = "ann@example.com";
let dovecot: Dovecot;

beforeEach(async () => void (dovecot = await startDovecot([ANN])));
afterEach(() => dovecot.close());

test("mails arrive in the order of delivery", async () => {
  const maildir = dovecot.maildir(ANN);
  const subjects = Array.from({ length: 300 }, (_, index) => String(index));
  for (const subject of subjects) maildir.deliver(Buffer.from(`Subject: ${subject}\r\n\r\nA text.\r\n`));
  expect(await readSubjects()).toEqual(subjects);
});

test("TLS works with its own certificate", async () => {
  const secure = { port: dovecot.imapsPort, secure: true };
  await expect(login(secure)).rejects.toThrow("self-signed");
  const ca = readFileSync(dovecot.certificate);
  await (await login({ ...secure, tls: { ca } })).logout();
  await (await login({ doSTARTTLS: true, tls: { ca } })).logout();
});

test("a login can be refused and accepted again", async () => {
  await dovecot.refuseLogin(ANN, true);
  await expect(login()).rejects.toMatchObject({ authenticationFailed: true });
  await dovecot.refuseLogin(ANN, false);
  await (await login()).logout();
});

test("open connections can be cut", async () => {
  const client = await login();
  const closed = new Promise<void>((resolve) => client.once("close", resolve));
  await dovecot.dropConnections(ANN);
  await expect(closed).resolves.toBeUndefined();
  await expect(dovecot.dropConnections(ANN)).resolves.toBeUndefined();
});

test("mails keep their uids under a new uidValidity, and lose them after a rebuild", async () => {
  const maildir = dovecot.maildir(ANN);
  for (const subject of ["first", "second", "third"]) maildir.deliver(Buffer.from(`Subject: ${subject}\r\n\r\n`));
  await readSubjects();
  await dovecot.doveadm("expunge", "-u", ANN, "mailbox", "INBOX", "subject", "first");
  const [before] = await readUids();

  await dovecot.renewUidValidity(ANN);
  const [renewed, uids] = await readUids();
  expect(renewed).toBeGreaterThan(before);
  expect(uids).toEqual([2, 3]);

  await dovecot.rebuild(ANN);
  const [rebuilt, newUids] = await readUids();
  expect(rebuilt).toBeGreaterThan(renewed);
  expect(newUids).toEqual([1, 2]);
});

test("a folder can be created and deleted", async () => {
  await dovecot.createFolder(ANN, "Reports");
  dovecot.maildir(ANN, "Reports").deliver(Buffer.from("Subject: a report\r\n\r\n"));
  expect(await readSubjects("Reports")).toEqual(["a report"]);
  await dovecot.deleteFolder(ANN, "Reports");
  await expect(readSubjects("Reports")).rejects.toMatchObject({ mailboxMissing: true });
});

test("it keeps its mails across a restart", async () => {
  dovecot.maildir(ANN).deliver(Buffer.from("Subject: kept\r\n\r\n"));
  await dovecot.stop();
  await expect(login()).rejects.toMatchObject({ code: "ECONNREFUSED" });
  await dovecot.start();
  expect(await readSubjects()).toEqual(["kept"]);
});

async function login(options: Partial<ImapFlowOptions> = {}): Promise<ImapFlow> {
  const client = new ImapFlow({
    host: dovecot.host,
    port: dovecot.imapPort,
    secure: false,
    doSTARTTLS: false,
    auth: { user: ANN, pass: dovecot.passwordOf(ANN) },
    logger: false,
    ...options,
  });
  client.on("error", () => {}); // A cut connection emits an error before it closes.
  await client.connect();
  return client;
}

async function readSubjects(folder = "INBOX"): Promise<(string | undefined)[]> {
  const client = await login();
  try {
    await client.mailboxOpen(folder);
    const mails = await client.fetchAll("1:*", { envelope: true });
    return mails.map(({ envelope }) => envelope?.subject);
  } finally {
    await client.logout();
  }
}

async function readUids(): Promise<[uidValidity: bigint, uids: number[]]> {
  const client = await login();
  const { uidValidity } = await client.mailboxOpen("INBOX");
  const mails = await client.fetchAll("1:*", { uid: true });
  await client.logout();
  return [uidValidity, mails.map(({ uid }) => uid)];
}
