import { describe, expect, test } from "vitest";
import { startImapServer } from "../../../test/support/imap-server.ts";
import {
  describeMailSource,
  type Followed,
  followMail,
  followThrough,
  mailFailureOf,
  type MailSourceUnderTest,
} from "../../contracts/mail.ts";
import { createImap, findAuthservId } from "./imap.ts";
import type { ImapOptions } from "../options.ts";
import { openImapMailbox } from "../../../test/support/imap-mailbox.ts";

describeMailSource({ describe, test }, "imap", open);

const ANN: ImapOptions = {
  host: "mail.example.com",
  user: "Ann@example.com",
  password: "p",
  tls: "implicit",
  folders: ["INBOX"],
};

test.each([
  ["imap.gmail.com", "mx.google.com"],
  ["IMAP.googlemail.com", "mx.google.com"],
  ["imap.gmail.com.evil.example", undefined],
  ["mail.example.com", undefined],
])("the server whose results count at %s is %s", (host, authservId) => {
  expect(findAuthservId({ host })).toBe(authservId);
});

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

const SOON = { renewMs: 100, pollMs: 100 };

test("notices mail in IDLE", async () => {
  const { server, source } = await openImapMailbox();
  const following = followMail(source, hasCome(2));
  await expect.poll(() => server.idleCount()).toBe(1);
  server.append("INBOX", toMail(1));
  server.append("INBOX", toMail(2));
  expect(toIds(await following)).toEqual(["1", "2"]);
});

test("polls a server without IDLE", async () => {
  const { server, source } = await openImapMailbox({ without: ["IDLE"] }, { timing: SOON });
  const { batches } = await followMail(source, (followed) => {
    if (followed.batches.length === 1) setTimeout(() => server.append("INBOX", toMail(1)), 300);
    return followed.mails.length === 1;
  });
  expect(batches.at(-1)?.mails).toHaveLength(1);
  expect(server.commands()).not.toContain("IDLE");
});

test("fetches nothing if nothing has changed", async () => {
  const { server, source } = await openImapMailbox();
  server.append("INBOX", toMail(1));
  const { position } = await followMail(source, hasCome(1));
  const before = server.commands().length;
  const { mails } = await followMail(source, () => true, { position });
  expect(mails).toEqual([]);
  expect(
    server
      .commands()
      .slice(before)
      .filter((command) => command.includes("FETCH")),
  ).toEqual([]);
});

test("notices that a server no longer answers", async () => {
  const { server, source } = await openImapMailbox({}, { timing: { ...SOON, answerMs: 1000 } });
  const error = await mailFailureOf(
    followMail(source, () => {
      server.muteConnections();
      return false;
    }),
  );
  expect(error).toMatchObject({ kind: "network" });
});

test("notices that its folder was deleted, even if the server does not say so", async () => {
  const { server, source } = await openImapMailbox({ folders: { Lists: "" } }, { folders: ["Lists"], timing: SOON });
  const error = await mailFailureOf(
    followMail(source, ({ batches }) => {
      if (batches.length === 1) server.deleteFolder("Lists");
      return false;
    }),
  );
  expect(error).toMatchObject({ kind: "gone", message: expect.stringContaining("Lists") });
  expect(await mailFailureOf(followMail(source, () => true))).toMatchObject({ kind: "gone" });
});

test("gives mail that arrives between batches, and nothing twice", async () => {
  const { server, source } = await openImapMailbox();
  server.append("INBOX", toMail(1));
  const followed = await followMail(source, ({ mails: { length } }) => {
    if (length > 0 && length < 4) server.append("INBOX", toMail(length + 1));
    return length === 4;
  });
  expect(toIds(followed)).toEqual(["1", "2", "3", "4"]);
});

test("continues by uid after mails were deleted", async () => {
  const { server, source } = await openImapMailbox();
  const uids = [1, 2, 3].map((number) => server.append("INBOX", toMail(number)));
  const { position } = await followMail(source, hasCome(3));
  for (const uid of uids) server.expunge("INBOX", uid);
  server.append("INBOX", toMail(4));
  expect(toIds(await followMail(source, hasCome(1), { position }))).toEqual(["4"]);
});

test("gives a backlog once, even if it is interrupted", async () => {
  const { server, source } = await openImapMailbox();
  const since = Date.parse("2026-11-01T12:00:00Z");
  const old = new Date(since - 1000);
  const young = new Date(since);
  [young, old, young, old, young].forEach((receivedAt, index) =>
    server.append("INBOX", toMail(index + 1), { receivedAt }),
  );
  const first = await followMail(source, hasCome(1), { since, batchSize: 1 });
  // Copied from elsewhere with its old date: it is new here.
  server.append("INBOX", toMail(6), { receivedAt: old });
  const mails = await followThrough(source, 3, { position: first.position, since: Date.now() });
  expect([...toIds(first), ...toIds({ mails })]).toEqual(["1", "3", "5", "6"]);
});

test("looks through a large backlog in chunks, and remembers how far it got", async () => {
  const { server, source } = await openImapMailbox();
  for (let number = 1; number <= 600; number++) server.append("INBOX", toMail(number));
  const { batches, mails } = await followMail(source, hasCome(1), {
    findKnown: async (ids) => new Set(ids.filter((id) => !id.startsWith("600#"))),
    batchSize: 100,
  });
  expect(toIds({ mails })).toEqual(["600"]);
  expect(batches.map(({ mails: { length }, remaining }) => [length, remaining])).toEqual([
    [0, 600],
    ...[500, 400, 300, 200, 100].map((remaining) => [0, remaining]),
    [1, 0],
  ]);
  const rest = await followMail(source, hasCome(1), { position: batches[5]?.position, batchSize: 100 });
  expect(toIds(rest)).toEqual(Array.from({ length: 100 }, (_, index) => `${501 + index}`));
});

test("leaves out everything received before `since`", async () => {
  const { server, source } = await openImapMailbox();
  server.append("INBOX", toMail(1), { receivedAt: new Date(Date.now() - 60_000) });
  const followed = await followMail(
    source,
    (sofar) => {
      if (sofar.batches.length === 1) server.append("INBOX", toMail(2));
      return sofar.mails.length === 1;
    },
    { since: Date.now() },
  );
  expect(toIds(followed)).toEqual(["2"]);
});

function hasCome(count: number) {
  return ({ mails }: Followed): boolean => mails.length >= count;
}

function toMail(number: number): string {
  return `Message-ID: <${number}>\r\nSubject: Mail ${number}\r\n\r\nText`;
}

function toIds({ mails }: Pick<Followed, "mails">): string[] {
  return mails.map(({ messageId }) => messageId);
}
