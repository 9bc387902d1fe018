import { once } from "node:events";
import { createServer } from "node:http";
import { describe, afterAll, beforeAll, expect, test } from "vitest";
import { type GmailServer, startGmail } from "../../../test/support/gmail.ts";
import { createOAuthClient } from "./api.ts";
import { createNews, createPubsub, parseNotification, type Pubsub } from "./pubsub-pull.ts";

describe("news", () => {
  const USER = "ann@example.com";
  const NEVER = 36_000_000;
  const { signal } = new AbortController();

  /** A subscription that gives this, pull after pull, and then holds the pull. */
  function createPulls(...pulls: unknown[][]): Pubsub & { asked: number } {
    const pubsub = {
      asked: 0,
      call: async () => ({}),
      async pull(_subscription: string, _timeoutMs: number, stop: AbortSignal) {
        const messages = pulls[pubsub.asked++];
        if (messages) return messages;
        stop.throwIfAborted();
        return new Promise<never>((_, reject) => {
          stop.addEventListener("abort", () => reject(stop.reason));
        });
      },
    };
    return pubsub;
  }

  function announce(emailAddress: unknown): object {
    return { data: Buffer.from(JSON.stringify({ emailAddress })).toString("base64") };
  }

  test("a wait ends with what is announced for this mailbox, and with nothing else", async () => {
    const pubsub = createPulls([announce("bob@example.com"), {}], [], [null, announce("Ann@Example.com")]);
    await createNews({ user: USER, pollMs: NEVER, pulled: { pubsub, subscription: "s" } }).wait(signal);
    expect(pubsub.asked).toBe(3);
  });

  test("or after the longest wait", async () => {
    await expect(createNews({ user: USER, pollMs: 5 }).wait(signal)).resolves.toBeUndefined();
  });

  test.each([true, false])("or with a ring, also one that came before it; pulling: %s", async (isPulled) => {
    const pulled = isPulled ? { pulled: { pubsub: createPulls(), subscription: "s" } } : {};
    const news = createNews({ user: USER, pollMs: NEVER, ...pulled });
    news.ring();
    news.ring();
    await news.wait(signal);
    const wait = news.wait(signal);
    news.ring();
    await expect(wait).resolves.toBeUndefined();
  });

  test("or with an abort, which is no news", async () => {
    const end = new AbortController();
    const wait = createNews({ user: USER, pollMs: NEVER }).wait(end.signal);
    end.abort();
    await expect(wait).rejects.toThrow("aborted");
  });
});

describe("pubsub", () => {
  const NEVER = 36_000_000;

  let server: GmailServer;
  let pubsub: Pubsub;
  const { signal } = new AbortController();

  beforeAll(async () => {
    server = await startGmail();
    pubsub = createPubsub({ auth: await createOAuthClient(server.oauth), url: server.url });
  });
  afterAll(() => server.close());

  test("a pull takes all that waits", async () => {
    const { topic, subscription } = server.notified;
    server.pubsub.publish(topic, { number: 1 });
    server.pubsub.publish(topic, { number: 2 });
    expect(await pubsub.pull(subscription, NEVER, signal)).toHaveLength(2);
    expect(server.pubsub.unacknowledged(subscription)).toBe(0);
  });

  test("a pull for nothing ends when its time is over", async () => {
    expect(await pubsub.pull(server.notified.subscription, 50, signal)).toEqual([]);
  });

  test("a pull ends with an abort, and nothing else ends with it", async () => {
    const { subscription } = server.notified;
    // Before it is sent, too: the fetch that Google's library brings would take the whole process along.
    await expect(pubsub.pull(subscription, NEVER, AbortSignal.abort())).rejects.toThrow(/cannot pull/);
    const end = new AbortController();
    server.intercept = () => void setImmediate(() => end.abort());
    await expect(pubsub.pull(subscription, NEVER, end.signal)).rejects.toThrow(/cannot pull/);
    server.intercept = () => undefined;
  });

  test("an error says why there was no answer", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
    other.close();
    await once(other, "close");
    const nobody = createPubsub({ auth: await createOAuthClient(server.oauth), url });
    await expect(nobody.pull("projects/p/subscriptions/s", NEVER, signal)).rejects.toMatchObject({
      kind: "network",
      message: expect.stringMatching(/ECONNREFUSED/),
    });
  });
});

describe("notification", () => {
  const encode = (said: unknown): string => Buffer.from(JSON.stringify(said)).toString("base64");

  test("which mailbox has changed", () => {
    const data = encode({ emailAddress: "ann@example.com", historyId: 5 });
    expect(parseNotification({ data, messageId: "1" })).toEqual({ emailAddress: "ann@example.com" });
    expect(
      parseNotification({ data: data.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "") }),
    ).toBeDefined();
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
  ])("anything else is none: %o", (message) => {
    expect(parseNotification(message)).toBeUndefined();
  });
});
