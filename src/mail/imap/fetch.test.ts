import { describe, expect, test } from "vitest";
import { openImapMailbox } from "../../../test/support/imap-mailbox.ts";
import type { AppendOptions, ImapServerOptions } from "../../../test/support/imap-server.ts";
import { type Followed, followMail, followThrough, mailFailureOf } from "../../contracts/mail.ts";
import type { ReceivedMail } from "../../core/ports/mail-source.ts";

test("gives only the header of a mail whose text the server refuses, and the others whole", async () => {
  const { server, source } = await openImapMailbox();
  const uids = [1, 2, 3].map((number) => server.append("INBOX", toMail(number)));
  server.failOn("INBOX", uids[1] ?? 0);
  const { mails } = await followMail(source, hasCome(3));
  expect(mails.map(({ messageId, body }) => [messageId, body])).toEqual([
    ["1@example.com", "Text 1"],
    ["2@example.com", ""],
    ["3@example.com", "Text 3"],
  ]);
  expect(mails[1]).toMatchObject({
    from: "Ann Lee <ann@example.com>",
    sender: "ann@example.com",
    to: ["bob@example.com"],
    subject: "Mail 2",
    date: "2026-11-20T12:00:00.000Z",
    truncated: true,
  });
});

test("gives a placeholder with a stable id for a mail that the server refuses entirely", async () => {
  const { server, source } = await openImapMailbox();
  server.hide("INBOX", server.append("INBOX", toMail(1)));
  const [first, second] = await Promise.all([followMail(source, hasCome(1)), followMail(source, hasCome(1))]);
  expect(first.mails[0]).toMatchObject({ subject: "", body: "", truncated: true });
  expect(first.mails[0]?.id).toBe(second.mails[0]?.id);
});

describe("gives all mails, one of them as far as possible, if the server gives NIL for its", () => {
  test.each([
    ["text", /^BODY\[\]/, { subject: "Mail 2", body: "", truncated: true }],
    ["text and header", /^BODY\[/, { subject: "", body: "", truncated: true }],
    ["time", /^INTERNALDATE/, { subject: "Mail 2", body: "Text 2" }],
    ["size", /^RFC822.SIZE/, { subject: "Mail 2", body: "Text 2" }],
    ["flags", /^FLAGS/, { subject: "Mail 2", body: "Text 2" }],
    ["structure", /^BODYSTRUCTURE/, { subject: "Mail 2", body: "Text 2" }],
  ])("%s", async (_, items, expected) => {
    const { server, source } = await openImapMailbox();
    const uids = [1, 2, 3].map((number) => server.append("INBOX", toMail(number)));
    server.giveNil("INBOX", uids[1] ?? 0, items);
    const mails = await followThrough(source, 3);
    expect(mails.map(({ body }) => body)).toEqual(["Text 1", expected.body, "Text 3"]);
    expect(mails[1]).toMatchObject(expected);
  });

  test.each([
    ["structure", /^BODYSTRUCTURE/, { subject: "Mail 2", body: "", truncated: true }],
    ["header", /^BODY\[HEADER\]/, { subject: "", body: "", truncated: true }],
    ["parts", /^BODY\[(?:TEXT|\d)/, { subject: "Mail 2", body: "", truncated: true }],
    ["everything", /^BODY/, { subject: "", body: "", truncated: true }],
  ])("%s, and it is large", async (_, items, expected) => {
    const { server, source } = await openImapMailbox();
    const large = `${toMail(2)}\r\n${"x".repeat(600_000)}`;
    const uids = [toMail(1), large, toMail(3)].map((mail) => server.append("INBOX", mail));
    server.giveNil("INBOX", uids[1] ?? 0, items);
    const mails = await followThrough(source, 3);
    expect(mails.map(({ body }) => body)).toEqual(["Text 1", expected.body, "Text 3"]);
    expect(mails[1]).toMatchObject(expected);
  });
});

test("gets past a mail that ends every connection on which it is fetched", async () => {
  const { server, source } = await openImapMailbox();
  const uids = [1, 2, 3].map((number) => server.append("INBOX", toMail(number)));
  server.cutWithin("INBOX", uids[1] ?? 0, Infinity);
  const mails = await followThrough(source, 3);
  expect(mails.map(({ body }) => body)).toEqual(["Text 1", "", "Text 3"]);
});

test("gives a mail whole after a connection was lost once", async () => {
  const { server, source } = await openImapMailbox();
  const uids = [1, 2, 3].map((number) => server.append("INBOX", toMail(number)));
  server.cutWithin("INBOX", uids[1] ?? 0);
  expect(await mailFailureOf(followMail(source, hasCome(3)))).toMatchObject({ kind: "network" });
  const mails = await followThrough(source, 3);
  expect(mails.map(({ body }) => body)).toEqual(["Text 1", "Text 2", "Text 3"]);
});

test("leaves out a mail that is deleted before it is read", async () => {
  const { server, source } = await openImapMailbox();
  const uids = [1, 2, 3].map((number) => server.append("INBOX", toMail(number)));
  const { mails } = await followMail(source, ({ batches }) => {
    // The first batch is empty: by now the uids are listed.
    if (batches.length === 1) server.expunge("INBOX", uids[1] ?? 0);
    return batches.at(-1)?.remaining === 0;
  });
  expect(mails.map(({ messageId }) => messageId)).toEqual(["1@example.com", "3@example.com"]);
});

test("fetches only the texts of a large mail, and lists its attachments", async () => {
  const { server, source } = await openImapMailbox();
  server.append("INBOX", toLargeMail());
  const { mails } = await followMail(source, hasCome(1));
  expect(mails[0]).toMatchObject({
    messageId: "large@example.com",
    body: "Größe",
    truncated: false,
    attachments: [{ name: "Bill.pdf", type: "application/pdf" }],
  });
  const fetches = server.commands().filter((command) => /BODY\.PEEK\[(?!HEADER\.FIELDS)/.test(command));
  expect(fetches).toEqual([
    expect.stringMatching(/BODY\.PEEK\[HEADER\]<0\.\d+> BODY\.PEEK\[2\.MIME\] BODY\.PEEK\[2\]<0\.\d+>/),
  ]);
});

test("fetches only the beginning of a long text", async () => {
  const { server, source } = await openImapMailbox();
  server.append("INBOX", `Message-ID: <long@example.com>\r\n\r\n${"A long line of text.\r\n".repeat(40_000)}`);
  const { mails } = await followMail(source, hasCome(1));
  expect(mails[0]).toMatchObject({ messageId: "long@example.com", truncated: true, attachments: [] });
  expect(mails[0]?.body).toHaveLength(20_000);
  expect(server.commands().filter((command) => command.includes("BODY.PEEK[]"))).toEqual([]);
});

const NONE = { spam: false, trash: false, draft: false, own: false };

test.each([
  ["INBOX", ["\\Seen", "\\Flagged"], NONE],
  ["INBOX", ["\\Deleted"], { ...NONE, trash: true }],
  ["INBOX", ["\\Draft"], { ...NONE, draft: true }],
  ["INBOX", ["$Junk"], { ...NONE, spam: true }],
  ["INBOX", ["$NotJunk"], NONE],
  ["Spam", [], { ...NONE, spam: true }],
  ["Bin", [], { ...NONE, trash: true }],
  ["Unsent", [], { ...NONE, draft: true }],
  ["Outgoing", [], { ...NONE, own: true }],
])("marks of a mail in %s with the flags %j", async (folder, flags, marks) => {
  const folders = { Spam: "\\Junk", Bin: "\\Trash", Unsent: "\\Drafts", Outgoing: "\\Sent" };
  expect((await receive({ folders }, folder, { flags })).marks).toEqual(marks);
});

test("keywords are labels, flags are not", async () => {
  const { mail } = await receive({}, "INBOX", { flags: ["\\Seen", "work", "$Forwarded"] });
  expect(mail).toMatchObject({ folder: "INBOX", labels: ["work", "$Forwarded"] });
});

test("takes over Gmail's labels and threads", async () => {
  const { mail, marks } = await receive({ with: ["X-GM-EXT-1"] }, "INBOX", {
    labels: ["Clients", "\\Draft"],
  });
  expect(mail.labels).toEqual(["Inbox", "Clients", "Draft"]);
  expect(mail.threadId).toBe("171");
  expect(marks).toEqual({ ...NONE, draft: true });
});

test("a mail without a date has the time of its receipt", async () => {
  const receivedAt = new Date("2026-11-01T12:00:01Z");
  expect((await receive({}, "INBOX", { receivedAt })).mail.date).toBe("2026-11-01T12:00:01.000Z");
});

async function receive(server: ImapServerOptions, folder: string, options: AppendOptions): Promise<ReceivedMail> {
  const mailbox = await openImapMailbox(server, { folders: [folder] });
  mailbox.server.append(folder, "Subject: Hello\r\n\r\nText", options);
  const { batches } = await followMail(mailbox.source, ({ mails }) => mails.length === 1);
  const [received] = batches.flatMap(({ mails }) => mails);
  if (!received) throw new Error("No mail arrived.");
  return received;
}

function hasCome(count: number) {
  return ({ mails }: Followed): boolean => mails.length >= count;
}

function toMail(number: number): string {
  return [
    `Message-ID: <${number}@example.com>`,
    "Date: Fri, 20 Nov 2026 12:00:00 +0000",
    "From: Ann Lee <ann@example.com>",
    "To: bob@example.com",
    `Subject: Mail ${number}`,
    "",
    `Text ${number}`,
  ].join("\r\n");
}

function toLargeMail(): string {
  return [
    "Message-ID: <large@example.com>",
    'Content-Type: multipart/mixed; boundary="b"',
    "",
    "--b",
    'Content-Type: application/pdf; name="Bill.pdf"',
    "Content-Transfer-Encoding: base64",
    "",
    "QUFB".repeat(200_000),
    "--b",
    "Content-Type: text/plain; charset=iso-8859-1",
    "Content-Transfer-Encoding: quoted-printable",
    "",
    "Gr=F6=DFe",
    "--b--",
  ].join("\r\n");
}
