import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openSource } from "../../../test/support/follow.ts";
import { type GmailServer, startGmail, toMail } from "../../../test/support/gmail.ts";
import { googleError } from "../../../test/support/gmail/pubsub.ts";
import { startJsonServer } from "../../../test/support/json-server.ts";
import { describeMailSource, type MailSourceUnderTest } from "../../contracts/mail.ts";
import type { MailSource } from "../../core/ports/mail-source.ts";
import { createGmail } from "./gmail.ts";
import type { GmailOptions } from "../options.ts";

const HOUR = 3_600_000;
/** Longer than any test: mail arrives because of a notification. */
const NEVER = 36_000_000;
const { signal } = new AbortController();

describeMailSource({ describe, test }, "gmail", openContract);

test("names the mailbox after its address", () => {
  const user = "Ann.Lee@Example.com";
  expect(createGmail({ user, oauth: { clientId: "c", refreshToken: "r" } })).toMatchObject({
    mailbox: "gmail://ann.lee@example.com",
    addresses: ["ann.lee@example.com"],
    folders: ["mailbox"],
  });
});

describe("a mailbox", () => {
  let server: GmailServer;

  beforeEach(async () => {
    server = await startGmail();
    const started = server;
    onTestFinished(() => started.close());
  });

  function open(more: Partial<GmailOptions> = {}, pollMs = 20): MailSource {
    return createGmail({ ...server.source, ...more }, pollMs);
  }

  describe("mail", () => {
    test.each([
      ["has the label SENT", "Ann <ann@elsewhere.example>", ["INBOX", "SENT"]],
      ["comes from an alias", "Ann <Ann+shop@alias.example>", ["INBOX"]],
    ])("is the user's own if it %s", async (_, from, labelIds) => {
      const following = await openSource(open());
      await server.deliver(toMail("theirs"));
      await server.deliver(toMail("own").replace("Bob <bob@example.org>", from), { labelIds });
      await expect.poll(following.subjects).toEqual(["theirs", "own"]);
      expect(following.received().map(({ marks }) => marks.own)).toEqual([false, true]);
    });

    test("gives labels by name, the thread and the marks", async () => {
      const label = await server.createLabel("Work/Bills");
      const following = await openSource(open());
      await server.deliver(toMail("bill"), { labelIds: ["INBOX", label] });
      await server.deliver(toMail("spam"), { labelIds: ["SPAM"] });
      await server.deliver(toMail("draft"), { labelIds: ["DRAFT", "TRASH"] });
      await expect.poll(following.subjects).toEqual(["bill", "spam", "draft"]);
      expect(following.mails()[0]).toMatchObject({
        messageId: "bill@example.org",
        folder: "",
        labels: ["INBOX", "Work/Bills"],
        threadId: expect.stringMatching(/^thr_/),
        body: "Hello.",
      });
      expect(following.received().map(({ marks }) => marks)).toEqual([
        { spam: false, trash: false, draft: false, own: false },
        { spam: true, trash: false, draft: false, own: false },
        { spam: false, trash: true, draft: true, own: false },
      ]);
    });

    test("gives the text of a large mail, and its attachments by name and size", async () => {
      const following = await openSource(open());
      await server.deliver(largeMail(1_500_000));
      await expect.poll(following.subjects).toEqual(["large"]);
      expect(following.mails()[0]).toMatchObject({
        body: "Grüße from Köln.",
        attachments: [{ name: "photos.zip", type: "application/zip", size: 1_500_000 }],
      });
    });

    test("leaves out a deleted mail", async () => {
      const first = await openSource(open());
      await first.end();
      await server.remove(await server.deliver(toMail("gone")));
      await server.deliver(toMail("there"));
      const second = await openSource(open(), { position: first.position() });
      expect(second.subjects()).toEqual(["there"]);
    });

    test("gives a mail once, however often the history names it", async () => {
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

    test("gives a mail that is moved out of spam", async () => {
      const id = await server.deliver(toMail("ham"), { labelIds: ["SPAM"] });
      const following = await openSource(open(), { since: Date.now() + 1 });
      expect(following.subjects()).toEqual([]);
      await following.end();
      const later = await openSource(open(), { position: following.position(), since: Date.now() - HOUR });
      await server.modify(id, { addLabelIds: ["INBOX"], removeLabelIds: ["SPAM"] });
      await expect.poll(later.subjects).toEqual(["ham"]);
      expect(later.received()[0]?.marks.spam).toBe(false);
    });

    test("treats a position that it cannot read as none", async () => {
      await server.deliver(toMail("before"), { receivedAt: Date.now() - HOUR });
      const following = await openSource(open(), { position: "{nonsense" });
      await server.deliver(toMail("new"));
      await expect.poll(following.subjects).toEqual(["new"]);
    });
  });

  describe("notifications", () => {
    test("bring mail at once when they are pulled, and are acknowledged", async () => {
      const following = await openSource(open(server.notified, NEVER));
      await expect.poll(() => server.requests).toContain(`POST /v1/${server.notified.subscription}:pull`);
      await server.deliver(toMail("announced"));
      await expect.poll(following.subjects).toEqual(["announced"]);
      expect(server.pubsub.unacknowledged(server.notified.subscription)).toBe(0);
    });

    test("of other mailboxes and broken ones are acknowledged and ignored", async () => {
      await openSource(open(server.notified, NEVER));
      const { topic, subscription } = server.notified;
      const pulls = (): number => server.requests.filter((request) => request.endsWith(":pull")).length;
      const reads = (): number => server.requests.filter((request) => request.endsWith("/history")).length;
      await expect.poll(pulls).toBeGreaterThan(0);
      const readBefore = reads();
      for (const notification of [{ emailAddress: "bob@example.com" }, "nonsense", null, { emailAddress: 5 }]) {
        const before = pulls();
        server.pubsub.publish(topic, notification);
        await expect.poll(pulls).toBeGreaterThan(before);
      }
      expect(server.pubsub.unacknowledged(subscription)).toBe(0);
      expect(reads()).toBe(readBefore);
    });

    test("may be missing before the watch: the history is read once more", async () => {
      let delivered: Promise<string> | undefined;
      server.intercept = (request) => {
        if (request.endsWith("/watch")) delivered ??= server.deliver(toMail("in between"), { isAnnounced: false });
        return undefined;
      };
      const following = await openSource(open(server.notified, NEVER));
      await expect.poll(following.subjects).toEqual(["in between"]);
      await delivered;
    });

    test("end the wait when they are pushed", async () => {
      const { topic } = server.notified;
      const push = { audience: "hooks", serviceAccount: "pubsub@example.iam.gserviceaccount.com", keysUrl: server.url };
      const source = open({ topic, push }, NEVER);
      const following = await openSource(source);
      await server.deliver(toMail("pushed"));
      source.notify?.();
      await expect.poll(following.subjects).toEqual(["pushed"]);
    });

    test("are requested once", async () => {
      const source = open(server.notified, NEVER);
      await source.check(signal);
      await openSource(source);
      await expect.poll(() => server.requests).toContain(`POST /v1/${server.notified.subscription}:pull`);
      expect(server.requests.filter((request) => request.endsWith("/watch"))).toHaveLength(1);
    });

    test("are not requested if nothing receives them", async () => {
      await open({ topic: server.notified.topic }).check(signal);
      expect(server.requests).not.toContain("POST /gmail/v1/users/me/watch");
    });
  });

  describe("errors", () => {
    const refused = (kind: string, message: RegExp): unknown =>
      expect.objectContaining({ name: "MailError", kind, message: expect.stringMatching(message) });

    test("names an unknown client", async () => {
      const oauth = { clientId: "other", refreshToken: "x", tokenUrl: `${server.url}/oauth2/token` };
      await expect(open({ oauth }).check(signal)).rejects.toEqual(refused("login", /clientId/));
    });

    test("asks for the scope that is configured, and says why it is refused", async () => {
      const asked: unknown[] = [];
      const google = await startJsonServer(({ body }) => {
        asked.push(body["scope"]);
        return { status: 400, body: { error: "invalid_scope" } };
      });
      onTestFinished(google.close);
      const oauth = { ...server.oauth, scope: "mail.read", tokenUrl: `${google.url}token` };
      await expect(open({ oauth }).check(signal)).rejects.toEqual(refused("login", /invalid_scope/));
      expect(asked).toEqual(["mail.read"]);
    });

    test("names a consent for another mailbox", async () => {
      const message = /for ann\.lee@example\.com, .* bob@example\.com/;
      await expect(open({ user: "bob@example.com" }).check(signal)).rejects.toEqual(refused("login", message));
    });

    test("names an API that is not enabled", async () => {
      server.intercept = () =>
        googleError(403, "PERMISSION_DENIED", "Gmail API has not been used.", "accessNotConfigured");
      await expect(open().check(signal)).rejects.toEqual(refused("login", /Enable the Gmail API/));
    });

    test("names a missing topic", async () => {
      const topic = "projects/test/topics/other";
      await expect(open({ ...server.notified, topic }).check(signal)).rejects.toEqual(
        refused("login", /projects\/test\/topics\/other does not exist/),
      );
    });

    test("names a topic that Gmail may not publish on", async () => {
      const topic = "projects/test/topics/shut";
      await server.pubsub.answer({ method: "PUT", path: topic, body: {}, closed: signal });
      await expect(open({ ...server.notified, topic }).check(signal)).rejects.toEqual(
        refused("login", /gmail-api-push@system\.gserviceaccount\.com needs the role/),
      );
    });

    test("names a missing subscription", async () => {
      const subscription = "projects/test/subscriptions/other";
      const source = open({ ...server.notified, subscription });
      await expect(source.check(signal)).rejects.toEqual(refused("login", /does not exist or may not be pulled/));
      const following = await openSource(source);
      await expect.poll(following.error).toEqual(refused("gone", /subscriptions\/other/));
    });

    test("waits after a rate limit", async () => {
      let limits = 1;
      server.intercept = (request) =>
        request.endsWith("/labels") && limits-- > 0
          ? googleError(403, "PERMISSION_DENIED", "Quota exceeded", "userRateLimitExceeded")
          : undefined;
      const following = await openSource(open());
      await server.deliver(toMail("patience"));
      await expect.poll(following.subjects).toEqual(["patience"]);
    });
  });
});

async function openContract(): Promise<MailSourceUnderTest> {
  const gmail = await startGmail();
  const off = await startJsonServer(({ path }) =>
    path === "/token"
      ? { status: 200, body: { access_token: "t", expires_in: 3600 } }
      : googleError(400, "FAILED_PRECONDITION", "Mail service not enabled", "failedPrecondition"),
  );
  const from = (source: Partial<GmailOptions>) => createGmail({ ...gmail.source, ...source }, 20);
  const { oauth } = gmail;
  return {
    source: from({}),
    refused: from({ oauth: { ...oauth, refreshToken: "withdrawn" } }),
    missing: from({ oauth: { ...oauth, tokenUrl: `${off.url}token` }, apiUrl: off.url }),
    unreachable: from({ apiUrl: "http://127.0.0.1:1" }),
    async deliver(mail, receivedAt) {
      await gmail.deliver(mail, { receivedAt: receivedAt?.getTime() });
    },
    cut: async () => gmail.cut(),
    forgetPositions: () => gmail.forgetHistory(),
    async close() {
      await gmail.close();
      await off.close();
    },
  };
}

/** With a text, and an attachment of this size in bytes. */
function largeMail(size: number): Buffer {
  const head = `From: bob@example.org\r\nSubject: large\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n`;
  const text = `Content-Type: text/plain; charset=utf-8\r\n\r\nGrüße from Köln.\r\n--b\r\n`;
  const file = `Content-Type: application/zip\r\nContent-Disposition: attachment; filename="photos.zip"\r\nContent-Transfer-Encoding: base64\r\n\r\n`;
  const content = Buffer.alloc(size, 7).toString("base64").replaceAll(/.{76}/g, "$&\r\n");
  return Buffer.from(`${head}${text}${file}${content}\r\n--b--\r\n`);
}
