import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { ImapFlow } from "imapflow";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeMailSource, type MailSourceUnderTest, followMail, mailFailureOf } from "../../src/contracts/mail.ts";
import { createImap } from "../../src/mail/imap/imap.ts";
import type { ImapOptions } from "../../src/mail/options.ts";
import { type Dovecot, startDovecot } from "./dovecot.ts";

/** More than there are tests, since each uses its own mailbox. */
const USERS = Array.from({ length: 40 }, (_, index) => `user-${index}@example.com`);
const trusted = getCACertificates("default");
let dovecot: Dovecot;
let used = 0;

beforeAll(async () => {
  dovecot = await startDovecot(USERS);
  setDefaultCACertificates([...trusted, readFileSync(dovecot.certificate, "utf8")]);
});

afterAll(async () => {
  setDefaultCACertificates(trusted);
  await dovecot.close();
});

describeMailSource({ describe, test }, "imap with dovecot", open);

test("follows a nested folder with special characters in its name", async () => {
  const folders = ["Entwürfe & Größe", "Lists.受信箱"];
  const settings = { ...nextMailbox(), folders };
  for (const folder of folders) {
    await dovecot.createFolder(settings.user, folder);
    await append(settings, "Subject: Hello\r\n\r\n", { folder });
    const { mails } = await followMail(createImap({ ...settings, folders: [folder] }), hasMail);
    expect(mails[0]).toMatchObject({ subject: "Hello", folder });
  }
  await createImap(settings).check(new AbortController().signal);
});

test("gives no mail twice under a new uidValidity with the same uids", async () => {
  const settings = nextMailbox();
  const source = createImap(settings);
  await append(settings, "Message-ID: <1>\r\n\r\n");
  const { position, mails: known } = await followMail(source, hasMail);
  await dovecot.renewUidValidity(settings.user);
  await append(settings, "Message-ID: <2>\r\n\r\n");
  const findKnown = async (): Promise<Set<string>> => new Set(known.map(({ id }) => id));
  const { mails } = await followMail(source, hasMail, { position, findKnown });
  expect(mails.map(({ messageId }) => messageId)).toEqual(["2"]);
});

test("reports a deleted folder", async () => {
  const settings = { ...nextMailbox(), folders: ["Lists"] };
  await dovecot.createFolder(settings.user, "Lists");
  const source = createImap(settings);
  await followMail(source, () => true);
  await dovecot.deleteFolder(settings.user, "Lists");
  expect(await mailFailureOf(followMail(source, () => true))).toMatchObject({ kind: "gone" });
});

async function open(): Promise<MailSourceUnderTest> {
  const settings = nextMailbox();
  return {
    source: createImap(settings),
    refused: createImap({ ...settings, password: "wrong" }),
    missing: createImap({ ...settings, folders: ["Nowhere"] }),
    unreachable: createImap({ ...settings, port: 1 }),
    deliver: (mail, receivedAt) => append(settings, mail, { receivedAt }),
    cut: () => dovecot.dropConnections(settings.user),
    forgetPositions: () => dovecot.rebuild(settings.user),
    close: async () => undefined,
  };
}

function nextMailbox(): ImapOptions {
  const user = USERS[used++];
  if (user === undefined) throw new Error("There are more tests than mailboxes.");
  const { imapsPort: port } = dovecot;
  return { host: "localhost", port, tls: "implicit", user, password: dovecot.passwordOf(user), folders: ["INBOX"] };
}

/** Over a separate connection, since others may be cut. */
async function append(
  { user, password }: ImapOptions,
  mail: string,
  { folder = "INBOX", receivedAt }: { folder?: string; receivedAt?: Date } = {},
): Promise<void> {
  const client = new ImapFlow({
    host: dovecot.host,
    port: dovecot.imapPort,
    doSTARTTLS: false,
    auth: { user: user ?? "", pass: password },
    logger: false,
  });
  await client.connect();
  await client.append(folder, Buffer.from(mail), [], receivedAt);
  await client.logout();
}

function hasMail({ mails }: { mails: unknown[] }): boolean {
  return mails.length > 0;
}
