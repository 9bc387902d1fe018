import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GmailServer, startGmail } from "../../../test/support/gmail.ts";
import { createOAuthClient } from "./api.ts";
import { announcesChange, createPubsub, type Pubsub, pullUntilChange } from "./pubsub.ts";

const encode = (notification: unknown): string => Buffer.from(JSON.stringify(notification)).toString("base64");

test("pullUntilChange ends with a notification for this mailbox, and with no other message", async () => {
  const announce = (emailAddress: string): object => ({ data: encode({ emailAddress }) });
  const pulls: unknown[][] = [[announce("bob@example.com"), {}], [], [null, announce("Ann@Example.com")]];
  const pubsub: Pubsub = { check: async () => {}, pull: async () => pulls.shift() ?? [] };
  const options = { subscription: "s", user: "ann@example.com", timeoutMs: 36_000_000 };
  await pullUntilChange(pubsub, options, new AbortController().signal);
  expect(pulls).toEqual([]);
});

describe("pull", () => {
  const NEVER = 36_000_000;

  let server: GmailServer;
  let pubsub: Pubsub;
  const { signal } = new AbortController();

  beforeAll(async () => {
    server = await startGmail();
    pubsub = createPubsub(await createOAuthClient(server.oauth), server.url);
  });
  afterAll(() => server.close());

  test("returns and acknowledges all messages", async () => {
    const { topic, subscription } = server.notified;
    server.pubsub.publish(topic, { number: 1 });
    server.pubsub.publish(topic, { number: 2 });
    expect(await pubsub.pull(subscription, NEVER, signal)).toHaveLength(2);
    expect(server.pubsub.unacknowledged(subscription)).toBe(0);
  });

  test("returns nothing after the time", async () => {
    expect(await pubsub.pull(server.notified.subscription, 50, signal)).toEqual([]);
  });

  test("ends with an abort, and not the process", async () => {
    const { subscription } = server.notified;
    // Also before it is sent, when the fetch of Google's library would throw an uncaught error.
    await expect(pubsub.pull(subscription, NEVER, AbortSignal.abort())).rejects.toThrow(/cannot pull/);
    const end = new AbortController();
    server.intercept = () => void setImmediate(() => end.abort());
    await expect(pubsub.pull(subscription, NEVER, end.signal)).rejects.toThrow(/cannot pull/);
    server.intercept = () => undefined;
  });

  test("says why there was no answer", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
    other.close();
    await once(other, "close");
    const nobody = createPubsub(await createOAuthClient(server.oauth), url);
    await expect(nobody.pull("projects/p/subscriptions/s", NEVER, signal)).rejects.toMatchObject({
      kind: "network",
      message: expect.stringMatching(/ECONNREFUSED/),
    });
  });
});

describe("announcesChange", () => {
  test("reads base64 and base64url", () => {
    const data = encode({ emailAddress: "ann@example.com", historyId: 5, more: "~~~???" });
    expect(announcesChange({ data, messageId: "1" }, "ann@example.com")).toBe(true);
    const urlSafe = data.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    expect(announcesChange({ data: urlSafe }, "ann@example.com")).toBe(true);
    expect(announcesChange({ data }, "bob@example.com")).toBe(false);
  });

  test.each([
    undefined,
    null,
    "text",
    {},
    { data: 5 },
    { data: "" },
    { data: "%%%" },
    { data: encode(null) },
    { data: encode([]) },
    { data: encode({ emailAddress: {} }) },
  ])("is false for %o", (message) => {
    expect(announcesChange(message, "ann@example.com")).toBe(false);
  });
});
