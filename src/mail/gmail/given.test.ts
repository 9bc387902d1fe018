import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openSource } from "../../../test/support/follow.ts";
import { type GmailServer, startGmail, toMail } from "../../../test/support/gmail.ts";
import type { Mailbox } from "../../config/schema/generated.ts";
import type { MailSource } from "../source.ts";
import { createGmail } from "./gmail.ts";

const HOUR = 3_600_000;

let server: GmailServer;

beforeEach(async () => {
  server = await startGmail();
  const started = server;
  onTestFinished(() => started.close());
});

function open(more: Partial<Mailbox> = {}, pollMs = 20): MailSource {
  return createGmail({ source: { ...server.source, ...more }, pollMs });
}

describe("what is given", () => {
  test("at first nothing that was there before, then what comes in", async () => {
    await server.deliver(toMail("before"), { receivedAt: Date.now() - HOUR });
    const following = await openSource(open());
    expect(following.subjects()).toEqual([]);
    await server.deliver(toMail("one"));
    await server.deliver(toMail("two"));
    await expect.poll(following.subjects).toEqual(["one", "two"]);
  });

  test("what came since a moment, oldest first, in batches", async () => {
    const start = Date.now() - HOUR;
    for (const [index, subject] of ["a", "b", "c", "d", "e", "f"].entries()) {
      await server.deliver(toMail(subject), { receivedAt: start + index * 60_000 });
    }
    const following = await openSource(open(), { since: start + 60_000, batchSize: 2 });
    await expect.poll(following.subjects).toEqual(["b", "c", "d", "e", "f"]);
    expect(following.batches.slice(0, 3).map(({ remaining }) => remaining)).toEqual([3, 1, 0]);
  });

  test("goes on where a backlog was left", async () => {
    const start = Date.now() - HOUR;
    for (const [index, subject] of ["a", "b", "c", "d"].entries()) {
      await server.deliver(toMail(subject), { receivedAt: start + index * 60_000 });
    }
    const first = await openSource(open(), { since: start, batchSize: 2 });
    const { position, mails } = first.batches[0] ?? { mails: [] };
    await first.end();
    const known = mails.map(({ mail: { id } }) => id);
    const second = await openSource(open(), { position, isKnown: (id) => known.includes(id) });
    expect(second.subjects()).toEqual(["c", "d"]);
  });

  test("what came while nobody followed", async () => {
    const first = await openSource(open());
    await first.end();
    await server.deliver(toMail("meanwhile"));
    const second = await openSource(open(), { position: first.position() });
    expect(second.subjects()).toEqual(["meanwhile"]);
    await second.end();
    const third = await openSource(open(), { position: second.position() });
    expect(third.subjects()).toEqual([]);
  });

  test("each label by its name, the thread, and the marks of what is no mail to act on", async () => {
    const label = await server.createLabel("Work/Bills");
    const following = await openSource(open());
    await server.deliver(toMail("bill"), { labelIds: ["INBOX", label] });
    await server.deliver(toMail("spam"), { labelIds: ["SPAM"] });
    await server.deliver(toMail("draft"), { labelIds: ["DRAFT", "TRASH"] });
    await expect.poll(following.subjects).toEqual(["bill", "spam", "draft"]);
    expect(following.mails()[0]).toMatchObject({
      id: "bill@example.org",
      folder: "",
      labels: ["INBOX", "Work/Bills"],
      threadId: expect.stringMatching(/^thr_/),
      body: "Hello.",
    });
    expect(following.received().map(({ marks }) => marks)).toEqual([
      { spam: false, trash: false, draft: false },
      { spam: true, trash: false, draft: false },
      { spam: false, trash: true, draft: true },
    ]);
  });

  test("of a large mail the text, and its attachments by name and size", async () => {
    const following = await openSource(open());
    await server.deliver(largeMail(1_500_000));
    await expect.poll(following.subjects).toEqual(["large"]);
    expect(following.mails()[0]).toMatchObject({
      body: "Grüße from Köln.",
      attachments: [{ name: "photos.zip", type: "application/zip", size: 1_500_000 }],
    });
  });

  test("not what was deleted in between", async () => {
    const first = await openSource(open());
    await first.end();
    await server.remove(await server.deliver(toMail("gone")));
    await server.deliver(toMail("there"));
    const second = await openSource(open(), { position: first.position() });
    expect(second.subjects()).toEqual(["there"]);
  });

  test("once, however often the history names it", async () => {
    const first = await openSource(open());
    await first.end();
    const id = await server.deliver(toMail("busy"));
    await server.modify(id, { removeLabelIds: ["INBOX"] });
    await server.modify(id, { addLabelIds: ["INBOX"] });
    const second = await openSource(open(), { position: first.position() });
    expect(second.subjects()).toEqual(["busy"]);
    await server.modify(id, { removeLabelIds: ["INBOX"] });
    await server.modify(id, { addLabelIds: ["INBOX"] });
    await server.deliver(toMail("next"));
    await expect.poll(second.subjects).toEqual(["busy", "next"]);
  });

  test("what is moved out of spam", async () => {
    const id = await server.deliver(toMail("ham"), { labelIds: ["SPAM"] });
    const following = await openSource(open(), { since: Date.now() + 1 });
    expect(following.subjects()).toEqual([]);
    await following.end();
    const later = await openSource(open(), { position: following.position(), since: Date.now() - HOUR });
    await server.modify(id, { addLabelIds: ["INBOX"], removeLabelIds: ["SPAM"] });
    await expect.poll(later.subjects).toEqual(["ham"]);
    expect(later.received()[0]?.marks.spam).toBe(false);
  });
});

describe("a position that Gmail no longer knows", () => {
  test("is made up for: what is not known comes, each once", async () => {
    const first = await openSource(open());
    await server.deliver(toMail("known"));
    await expect.poll(first.subjects).toEqual(["known"]);
    await first.end();
    await server.deliver(toMail("missed"));
    await server.forgetHistory();
    const second = await openSource(open(), {
      position: first.position(),
      since: Date.now() - HOUR,
      isKnown: (id) => id === "known@example.org",
    });
    await expect.poll(second.subjects).toEqual(["missed"]);
    await server.deliver(toMail("after"));
    await expect.poll(second.subjects).toEqual(["missed", "after"]);
  });

  test("or that is none at all counts as the first", async () => {
    await server.deliver(toMail("before"), { receivedAt: Date.now() - HOUR });
    const following = await openSource(open(), { position: "{nonsense" });
    await server.deliver(toMail("new"));
    await expect.poll(following.subjects).toEqual(["new"]);
  });
});

/** With a text and an attachment of so many bytes. */
function largeMail(size: number): Buffer {
  const head = `From: bob@example.org\r\nSubject: large\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n`;
  const text = `Content-Type: text/plain; charset=utf-8\r\n\r\nGrüße from Köln.\r\n--b\r\n`;
  const file = `Content-Type: application/zip\r\nContent-Disposition: attachment; filename="photos.zip"\r\nContent-Transfer-Encoding: base64\r\n\r\n`;
  const content = Buffer.alloc(size, 7).toString("base64").replaceAll(/.{76}/g, "$&\r\n");
  return Buffer.from(`${head}${text}${file}${content}\r\n--b--\r\n`);
}
