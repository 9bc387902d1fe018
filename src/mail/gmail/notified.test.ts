import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openSource } from "../../../test/support/follow.ts";
import { type GmailServer, startGmail, toMail } from "../../../test/support/gmail.ts";
import type { Mailbox } from "../../config/schema/generated.ts";
import type { MailSource } from "../source.ts";
import { createGmail } from "./gmail.ts";

const { signal } = new AbortController();

/** Longer than any test: what comes in came by a notification. */
const NEVER = 36_000_000;

let server: GmailServer;

beforeEach(async () => {
  server = await startGmail();
  const started = server;
  onTestFinished(() => started.close());
});

function open(more: Partial<Mailbox> = {}, pollMs = 20): MailSource {
  return createGmail({ source: { ...server.source, ...more }, pollMs });
}

describe("notifications", () => {
  test("that are pulled bring a mail at once, and are acknowledged", async () => {
    const following = await openSource(open(server.notified, NEVER));
    await expect.poll(() => server.requests).toContain(`POST /v1/${server.notified.subscription}:pull`);
    await server.deliver(toMail("announced"));
    await expect.poll(following.subjects).toEqual(["announced"]);
    expect(server.pubsub.unacknowledged(server.notified.subscription)).toBe(0);
  });

  test("of other mailboxes and broken ones are acknowledged, and nothing is read for them", async () => {
    await openSource(open(server.notified, NEVER));
    const { topic, subscription } = server.notified;
    const pulls = (): number => server.requests.filter((request) => request.endsWith(":pull")).length;
    const reads = (): number => server.requests.filter((request) => request.endsWith("/history")).length;
    await expect.poll(pulls).toBeGreaterThan(0);
    const readBefore = reads();
    for (const said of [{ emailAddress: "bob@example.com" }, "nonsense", null, { emailAddress: 5 }]) {
      const before = pulls();
      server.pubsub.publish(topic, said);
      await expect.poll(pulls).toBeGreaterThan(before);
    }
    expect(server.pubsub.unacknowledged(subscription)).toBe(0);
    expect(reads()).toBe(readBefore);
  });

  test("that did not come, since there was no watch yet, are made up for by one more look", async () => {
    let delivered: Promise<string> | undefined;
    server.intercept = (request) => {
      if (request.endsWith("/watch")) delivered ??= server.deliver(toMail("in between"), { isAnnounced: false });
      return undefined;
    };
    const following = await openSource(open(server.notified, NEVER));
    await expect.poll(following.subjects).toEqual(["in between"]);
    await delivered;
  });

  test("that are pushed end the wait", async () => {
    const { topic } = server.notified;
    const push = { audience: "hooks", serviceAccount: "pubsub@example.iam.gserviceaccount.com" };
    const source = open({ topic, push }, NEVER);
    const following = await openSource(source);
    await server.deliver(toMail("pushed"));
    source.notify?.();
    await expect.poll(following.subjects).toEqual(["pushed"]);
  });

  test("are asked for once", async () => {
    const source = open(server.notified, NEVER);
    await source.check(signal);
    await openSource(source);
    await expect.poll(() => server.requests).toContain(`POST /v1/${server.notified.subscription}:pull`);
    expect(server.requests.filter((request) => request.endsWith("/watch"))).toHaveLength(1);
  });

  test("are not asked for where nobody takes them", async () => {
    await open({ topic: server.notified.topic }).check(signal);
    expect(server.requests).not.toContain("POST /gmail/v1/users/me/watch");
  });
});
