import { expect, test } from "vitest";
import { createNews } from "./news.ts";
import type { Pubsub } from "./pubsub.ts";

const USER = "ann@example.com";
const NEVER = 36_000_000;
const { signal } = new AbortController();

/** A subscription that gives this, pull after pull, and then holds the pull. */
function createPubsub(...pulls: unknown[][]): Pubsub & { asked: number } {
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
  const pubsub = createPubsub([announce("bob@example.com"), {}], [], [null, announce("Ann@Example.com")]);
  await createNews({ user: USER, pollMs: NEVER, pulled: { pubsub, subscription: "s" } }).wait(signal);
  expect(pubsub.asked).toBe(3);
});

test("or after the longest wait", async () => {
  await expect(createNews({ user: USER, pollMs: 5 }).wait(signal)).resolves.toBeUndefined();
});

test.each([true, false])("or with a ring, also one that came before it; pulling: %s", async (isPulled) => {
  const pulled = isPulled ? { pulled: { pubsub: createPubsub(), subscription: "s" } } : {};
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
