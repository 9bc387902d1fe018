import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openSource } from "../../../test/support/follow.ts";
import { type GmailServer, startGmail, toMail } from "../../../test/support/gmail.ts";
import { googleError } from "../../../test/support/gmail/pubsub.ts";
import type { Mailbox } from "../../config/schema/generated.ts";
import type { MailSource } from "../source.ts";
import { createGmail } from "./gmail.ts";

const { signal } = new AbortController();

let server: GmailServer;

beforeEach(async () => {
  server = await startGmail();
  const started = server;
  onTestFinished(() => started.close());
});

function open(more: Partial<Mailbox> = {}, pollMs = 20): MailSource {
  return createGmail({ source: { ...server.source, ...more }, pollMs });
}

describe("what is in the way", () => {
  const refused = (kind: string, message: RegExp) =>
    expect.objectContaining({ name: "MailError", kind, message: expect.stringMatching(message) });

  test("a consent that was withdrawn", async () => {
    await server.revoke();
    await expect(open().check(signal)).rejects.toEqual(refused("login", /refresh token .* `webhooks mail setup`/));
    const following = await openSource(open());
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
    await expect(source.check(signal)).rejects.toEqual(refused("login", /is not there, or may not be pulled/));
    const following = await openSource(source);
    await expect.poll(following.error).toEqual(refused("gone", /subscriptions\/other/));
  });

  test("a limit on requests, which is waited out", async () => {
    let limits = 1;
    server.intercept = (request) =>
      request.endsWith("/labels") && limits-- > 0
        ? googleError(403, "PERMISSION_DENIED", "Quota exceeded", "userRateLimitExceeded")
        : undefined;
    const following = await openSource(open());
    await server.deliver(toMail("patience"));
    await expect.poll(following.subjects).toEqual(["patience"]);
  });

  test("a server that is not there", async () => {
    const source = open();
    await server.close();
    await expect(source.check(signal)).rejects.toEqual(refused("network", /cannot open the mailbox/));
  });
});
