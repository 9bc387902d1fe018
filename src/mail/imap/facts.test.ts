import { expect, test } from "vitest";
import { openImapMailbox } from "../../../test/support/imap-mailbox.ts";
import type { AppendOptions, ImapServerOptions } from "../../../test/support/imap-server.ts";
import { followMail } from "../../contracts/mail.ts";
import type { ReceivedMail } from "../source.ts";

const NONE = { spam: false, trash: false, draft: false };

test.each([
  ["INBOX", ["\\Seen", "\\Flagged"], NONE],
  ["INBOX", ["\\Deleted"], { ...NONE, trash: true }],
  ["INBOX", ["\\Draft"], { ...NONE, draft: true }],
  ["INBOX", ["$Junk"], { ...NONE, spam: true }],
  ["INBOX", ["$NotJunk"], NONE],
  ["Spam", [], { ...NONE, spam: true }],
  ["Bin", [], { ...NONE, trash: true }],
  ["Unsent", [], { ...NONE, draft: true }],
])("a mail in %s with the flags %j", async (folder, flags, marks) => {
  const folders = { Spam: "\\Junk", Bin: "\\Trash", Unsent: "\\Drafts" };
  expect((await receive({ folders }, folder, { flags })).marks).toEqual(marks);
});

test("keywords are labels, and flags are none", async () => {
  const { mail } = await receive({}, "INBOX", { flags: ["\\Seen", "work", "$Forwarded"] });
  expect(mail).toMatchObject({ folder: "INBOX", labels: ["work", "$Forwarded"] });
});

test("Gmail's labels and threads are taken over", async () => {
  const { mail, marks } = await receive({ with: ["X-GM-EXT-1"] }, "INBOX", {
    labels: ["Clients", "\\Draft"],
  });
  expect(mail.labels).toEqual(["Inbox", "Clients", "Draft"]);
  expect(mail.threadId).toBe("171");
  expect(marks).toEqual({ ...NONE, draft: true });
});

test("a mail without a date has the one that it was received at", async () => {
  const receivedAt = new Date("2026-11-01T12:00:01Z");
  expect((await receive({}, "INBOX", { receivedAt })).mail.date).toBe("2026-11-01T12:00:01.000Z");
});

async function receive(server: ImapServerOptions, folder: string, options: AppendOptions): Promise<ReceivedMail> {
  const mailbox = await openImapMailbox(server, { folders: [folder] });
  mailbox.server.append(folder, "Subject: Hello\r\n\r\nText", options);
  const { batches } = await followMail(mailbox.source, ({ mails }) => mails.length === 1);
  const [received] = batches.flatMap(({ mails }) => mails);
  if (!received) throw new Error("No mail has come.");
  return received;
}
