import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { Mailbox } from "../../config/generated.ts";
import { MailError } from "../../errors.ts";
import { type Following, followSource } from "../../../test/support/follow.ts";
import { googleError } from "../../../test/support/gmail/pubsub.ts";
import { type GmailServer, startGmail } from "../../../test/support/gmail.ts";
import type { FollowOptions, MailSource } from "../port.ts";
import { createGmail } from "./gmail.ts";

const signal = new AbortController().signal;
const HOUR = 3_600_000;

/** Longer than any test: what comes in came by a notification. */
const NEVER = 10 * HOUR;

let server: GmailServer;

beforeEach(async () => {
  server = await startGmail();
  const started = server;
  onTestFinished(() => started.close());
});

function open(more: Partial<Mailbox> = {}, pollMs = 20): MailSource {
  return createGmail({ source: { ...server.source, ...more }, pollMs });
}

/** Resolves once the mailbox is open: what is delivered from then on has to come. */
async function follow(source: MailSource, options: Partial<FollowOptions> = {}): Promise<Following> {
  const following = followSource(source, options);
  await expect.poll(() => following.batches.length || following.error()).toBeTruthy();
  return following;
}

function mail(subject: string, more = ""): string {
  return `From: Bob <bob@example.org>\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@example.org>\r\n${more}\r\nHello.\r\n`;
}

test("says which mailbox it is", () => {
  const source = open({ user: "Ann.Lee@Example.com" });
  expect(source).toMatchObject({
    name: "gmail",
    mailbox: "gmail://ann.lee@example.com",
    addresses: ["ann.lee@example.com"],
    folders: ["mailbox"],
  });
});

describe("what is given", () => {
  test("at first nothing that was there before, then what comes in", async () => {
    await server.deliver(mail("before"), { receivedAt: Date.now() - HOUR });
    const following = await follow(open());
    expect(following.subjects()).toEqual([]);
    await server.deliver(mail("one"));
    await server.deliver(mail("two"));
    await expect.poll(following.subjects).toEqual(["one", "two"]);
  });

  test("what came since a moment, oldest first, in batches", async () => {
    const start = Date.now() - HOUR;
    for (const [index, subject] of ["a", "b", "c", "d", "e", "f"].entries()) {
      await server.deliver(mail(subject), { receivedAt: start + index * 60_000 });
    }
    const following = await follow(open(), { since: start + 60_000, batchSize: 2 });
    await expect.poll(following.subjects).toEqual(["b", "c", "d", "e", "f"]);
    expect(following.batches.slice(0, 3).map(({ remaining }) => remaining)).toEqual([3, 1, 0]);
  });

  test("goes on where a backlog was left", async () => {
    const start = Date.now() - HOUR;
    for (const [index, subject] of ["a", "b", "c", "d"].entries()) {
      await server.deliver(mail(subject), { receivedAt: start + index * 60_000 });
    }
    const first = await follow(open(), { since: start, batchSize: 2 });
    const { position, mails } = first.batches[0] ?? { mails: [] };
    await first.end();
    const known = mails.map(({ mail: { id } }) => id);
    const second = await follow(open(), { position, isKnown: (id) => known.includes(id) });
    expect(second.subjects()).toEqual(["c", "d"]);
  });

  test("what came while nobody followed", async () => {
    const first = await follow(open());
    await first.end();
    await server.deliver(mail("meanwhile"));
    const second = await follow(open(), { position: first.position() });
    expect(second.subjects()).toEqual(["meanwhile"]);
    await second.end();
    const third = await follow(open(), { position: second.position() });
    expect(third.subjects()).toEqual([]);
  });

  test("each label by its name, the thread, and the marks of what is no mail to act on", async () => {
    const label = await server.createLabel("Work/Bills");
    const following = await follow(open());
    await server.deliver(mail("bill"), { labelIds: ["INBOX", label] });
    await server.deliver(mail("spam"), { labelIds: ["SPAM"] });
    await server.deliver(mail("draft"), { labelIds: ["DRAFT", "TRASH"] });
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
    const following = await follow(open());
    await server.deliver(largeMail(1_500_000));
    await expect.poll(following.subjects).toEqual(["large"]);
    expect(following.mails()[0]).toMatchObject({
      body: "Grüße from Köln.",
      attachments: [{ name: "photos.zip", type: "application/zip", size: 1_500_000 }],
    });
  });

  test("not what was deleted in between", async () => {
    const first = await follow(open());
    await first.end();
    await server.remove(await server.deliver(mail("gone")));
    await server.deliver(mail("there"));
    const second = await follow(open(), { position: first.position() });
    expect(second.subjects()).toEqual(["there"]);
  });

  test("once, however often the history names it", async () => {
    const first = await follow(open());
    await first.end();
    const id = await server.deliver(mail("busy"));
    await server.modify(id, { removeLabelIds: ["INBOX"] });
    await server.modify(id, { addLabelIds: ["INBOX"] });
    const second = await follow(open(), { position: first.position() });
    expect(second.subjects()).toEqual(["busy"]);
    await server.modify(id, { removeLabelIds: ["INBOX"] });
    await server.modify(id, { addLabelIds: ["INBOX"] });
    await server.deliver(mail("next"));
    await expect.poll(second.subjects).toEqual(["busy", "next"]);
  });

  test("what is moved out of spam", async () => {
    const id = await server.deliver(mail("no spam"), { labelIds: ["SPAM"] });
    const following = await follow(open(), { since: Date.now() + 1 });
    expect(following.subjects()).toEqual([]);
    await following.end();
    const later = await follow(open(), { position: following.position(), since: Date.now() - HOUR });
    await server.modify(id, { addLabelIds: ["INBOX"], removeLabelIds: ["SPAM"] });
    await expect.poll(later.subjects).toEqual(["no spam"]);
    expect(later.received()[0]?.marks.spam).toBe(false);
  });
});

describe("a position that Gmail no longer knows", () => {
  test("is made up for: what is not known comes, each once", async () => {
    const first = await follow(open());
    await server.deliver(mail("known"));
    await expect.poll(first.subjects).toEqual(["known"]);
    await first.end();
    await server.deliver(mail("missed"));
    await server.forgetHistory();
    const second = await follow(open(), {
      position: first.position(),
      since: Date.now() - HOUR,
      isKnown: (id) => id === "known@example.org",
    });
    await expect.poll(second.subjects).toEqual(["missed"]);
    await server.deliver(mail("after"));
    await expect.poll(second.subjects).toEqual(["missed", "after"]);
  });

  test("or that is none at all counts as the first", async () => {
    await server.deliver(mail("before"), { receivedAt: Date.now() - HOUR });
    const following = await follow(open(), { position: "{nonsense" });
    await server.deliver(mail("new"));
    await expect.poll(following.subjects).toEqual(["new"]);
  });
});

describe("notifications", () => {
  test("that are pulled bring a mail at once, and are acknowledged", async () => {
    const following = await follow(open(server.notified, NEVER));
    await expect.poll(() => server.requests).toContain(`POST /v1/${server.notified.subscription}:pull`);
    await server.deliver(mail("announced"));
    await expect.poll(following.subjects).toEqual(["announced"]);
    expect(server.pubsub.unacknowledged(server.notified.subscription)).toBe(0);
  });

  test("of other mailboxes and broken ones are acknowledged, and nothing is read for them", async () => {
    await follow(open(server.notified, NEVER));
    const { topic, subscription } = server.notified;
    const pulls = (): number => server.requests.filter((request) => request.endsWith(":pull")).length;
    for (const said of [{ emailAddress: "bob@example.com" }, "nonsense", null, { emailAddress: 5 }]) {
      await expect.poll(pulls).toBeGreaterThan(0);
      const before = pulls();
      server.pubsub.publish(topic, said);
      await expect.poll(pulls).toBeGreaterThan(before);
    }
    expect(server.pubsub.unacknowledged(subscription)).toBe(0);
    expect(server.requests.filter((request) => request.endsWith("/history"))).toEqual([]);
  });

  test("that are pushed end the wait", async () => {
    const { topic } = server.notified;
    const push = { audience: "hooks", serviceAccount: "pubsub@example.iam.gserviceaccount.com" };
    const source = open({ topic, push }, NEVER);
    const following = await follow(source);
    await server.deliver(mail("pushed"));
    source.notify?.();
    await expect.poll(following.subjects).toEqual(["pushed"]);
  });

  test("are asked for once", async () => {
    const source = open(server.notified, NEVER);
    await source.check(signal);
    await follow(source);
    await expect.poll(() => server.requests).toContain(`POST /v1/${server.notified.subscription}:pull`);
    expect(server.requests.filter((request) => request.endsWith("/watch"))).toHaveLength(1);
  });

  test("are not asked for where nobody takes them", async () => {
    await open({ topic: server.notified.topic }).check(signal);
    expect(server.requests).not.toContain("POST /gmail/v1/users/me/watch");
  });
});

describe("what is in the way", () => {
  const refused = (kind: string, message: RegExp) =>
    expect.objectContaining({ name: "MailError", kind, message: expect.stringMatching(message) });

  test("a consent that was withdrawn", async () => {
    await server.revoke();
    await expect(open().check(signal)).rejects.toEqual(
      refused("login", /refresh token .* `webhooks mail setup`/),
    );
    const following = await follow(open());
    expect(following.error()).toEqual(refused("login", /./));
  });

  test("a client that is not known", async () => {
    const oauth = { clientId: "other", refreshToken: "x", tokenUrl: `${server.url}/oauth2/token` };
    await expect(open({ oauth }).check(signal)).rejects.toEqual(refused("login", /clientId/));
  });

  test("a consent for another mailbox", async () => {
    const message = /for ann\.lee@example\.com, .* bob@example\.com/;
    await expect(open({ user: "bob@example.com" }).check(signal)).rejects.toEqual(refused("login", message));
  });

  test("an API that is not enabled", async () => {
    server.intercept = () =>
      googleError(403, "PERMISSION_DENIED", "Gmail API has not been used.", "accessNotConfigured");
    await expect(open().check(signal)).rejects.toEqual(refused("login", /Enable the Gmail API/));
  });

  test("a mail service that is off", async () => {
    server.intercept = (request) =>
      request.startsWith("GET")
        ? googleError(400, "FAILED_PRECONDITION", "Mail service not enabled", "failedPrecondition")
        : undefined;
    await expect(open().check(signal)).rejects.toEqual(refused("gone", /Mail service not enabled/));
  });

  test("a topic that is not there", async () => {
    const topic = "projects/test/topics/other";
    await expect(open({ ...server.notified, topic }).check(signal)).rejects.toEqual(
      refused("login", /projects\/test\/topics\/other is not there/),
    );
  });

  test("a topic that Gmail may not publish on", async () => {
    const topic = "projects/test/topics/shut";
    await server.pubsub.answer({ method: "PUT", path: topic, body: {}, gone: signal });
    await expect(open({ ...server.notified, topic }).check(signal)).rejects.toEqual(
      refused("login", /gmail-api-push@system\.gserviceaccount\.com needs the role/),
    );
  });

  test("a subscription that is not there", async () => {
    const subscription = "projects/test/subscriptions/other";
    const source = open({ ...server.notified, subscription });
    await expect(source.check(signal)).rejects.toEqual(
      refused("login", /is not there, or may not be pulled/),
    );
    const following = await follow(source);
    await expect.poll(following.error).toEqual(refused("gone", /subscriptions\/other/));
  });

  test("a limit on requests, which is waited out", async () => {
    let limits = 1;
    server.intercept = (request) =>
      request.endsWith("/labels") && limits-- > 0
        ? googleError(403, "PERMISSION_DENIED", "Quota exceeded", "userRateLimitExceeded")
        : undefined;
    const following = await follow(open());
    await server.deliver(mail("patience"));
    await expect.poll(following.subjects).toEqual(["patience"]);
  });

  test("a server that is not there", async () => {
    const source = open();
    await server.close();
    await expect(source.check(signal)).rejects.toBeInstanceOf(MailError);
    await expect(source.check(signal)).rejects.toMatchObject({ kind: "network" });
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
