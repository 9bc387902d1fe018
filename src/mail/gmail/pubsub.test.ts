import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type GmailServer, startGmail } from "../../../test/support/gmail.ts";
import { createOAuthClient } from "./oauth-client.ts";
import { createPubsub, type Pubsub } from "./pubsub.ts";

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
