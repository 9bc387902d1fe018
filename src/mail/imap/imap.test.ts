import { describe, expect, test } from "vitest";
import { startImapServer } from "../../../test/support/imap-server.ts";
import { describeMailSource, type MailSourceUnderTest } from "../../contracts/mail.ts";
import { createImap } from "./imap.ts";
import type { ImapOptions } from "./options.ts";

describeMailSource({ describe, test }, "imap", open);

const ANN: ImapOptions = {
  host: "mail.example.com",
  user: "Ann@example.com",
  password: "p",
  tls: "implicit",
  folders: ["INBOX"],
};

test("names the mailbox after its server and login", () => {
  expect(createImap(ANN)).toMatchObject({
    mailbox: "imap://Ann%40example.com@mail.example.com",
    addresses: ["ann@example.com"],
    folders: ["INBOX"],
  });
  expect(createImap({ ...ANN, user: "ann", folders: ["INBOX", "Lists"] })).toMatchObject({
    mailbox: "imap://ann@mail.example.com",
    addresses: [],
    folders: ["INBOX", "Lists"],
  });
});

test.each([
  [{ port: 993 }, "imap://Ann%40example.com@mail.example.com"],
  [{ port: 1993 }, "imap://Ann%40example.com@mail.example.com:1993"],
  [{ tls: "starttls", port: 143 }, "imap://Ann%40example.com@mail.example.com"],
  [{ host: "::1", tls: "none" }, "imap://Ann%40example.com@[::1]"],
] as const)("the mailbox's name with %j", (settings, mailbox) => {
  expect(createImap({ ...ANN, ...settings })).toMatchObject({ mailbox });
});

test("refuses to send a password in clear to another machine", () => {
  expect(() => createImap({ ...ANN, tls: "none" })).toThrow("TLS is required");
});

async function open(): Promise<MailSourceUnderTest> {
  const server = await startImapServer();
  const { host, port, user, password } = server;
  const source: ImapOptions = { host, port, tls: "none", user, password, folders: ["INBOX"] };
  return {
    source: createImap(source),
    refused: createImap({ ...source, password: "wrong" }),
    missing: createImap({ ...source, folders: ["Nowhere"] }),
    unreachable: createImap({ ...source, port: 1 }),
    deliver: async (mail, receivedAt) => void server.append("INBOX", mail, { receivedAt }),
    cut: async () => server.dropConnections(),
    forgetPositions: async () => server.newUidValidity("INBOX"),
    close: () => server.close(),
  };
}
