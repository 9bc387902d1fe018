import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type GmailServer, startGmail } from "../../../test/support/gmail.ts";
import { GMAIL_PUBLISHER, googleError } from "../../../test/support/gmail/pubsub.ts";
import { createOAuthClient } from "./api.ts";
import { createGmail } from "./gmail.ts";
import { preparePubsub, type PreparePubsubOptions } from "./setup-pubsub.ts";

let server: GmailServer;
let options: PreparePubsubOptions;
let count = 0;
const { signal } = new AbortController();

beforeAll(async () => {
  server = await startGmail();
});
afterAll(() => server.close());

beforeEach(async () => {
  count += 1;
  server.intercept = () => undefined;
  server.requests.length = 0;
  options = {
    auth: await createOAuthClient({ ...server.source.oauth }),
    pubsubUrl: server.url,
    topic: `projects/test/topics/mail-${count}`,
    subscription: `projects/test/subscriptions/mail-${count}`,
    signal,
  };
});

const PUSH = {
  endpoint: "https://hooks.example.com/mail/push",
  audience: "https://hooks.example.com",
  serviceAccount: "pubsub@test.iam.gserviceaccount.com",
};

const PUSH_CONFIG = {
  pushEndpoint: PUSH.endpoint,
  oidcToken: { audience: PUSH.audience, serviceAccountEmail: PUSH.serviceAccount },
};

test("creates a topic and a subscription that a mailbox can be followed with", async () => {
  await preparePubsub(options);
  const { topic, subscription } = options;
  expect(server.pubsub.mayPublish(topic, GMAIL_PUBLISHER)).toBe(true);
  // Otherwise a subscription that is not pulled is deleted after a month.
  expect(server.pubsub.subscription(subscription)).toMatchObject({ topic, expirationPolicy: {} });
  await createGmail({ ...server.source, topic, subscription }).check(signal);
});

test("creates a push subscription", async () => {
  await preparePubsub({ ...options, push: PUSH });
  expect(server.pubsub.subscription(options.subscription)).toMatchObject({ pushConfig: PUSH_CONFIG });
});

test("can be run again, and changes what differs", async () => {
  await preparePubsub(options);
  await preparePubsub({ ...options, push: PUSH });
  expect(server.pubsub.subscription(options.subscription)).toMatchObject({ pushConfig: PUSH_CONFIG });
  await preparePubsub(options);
  expect(server.pubsub.subscription(options.subscription)).toMatchObject({ pushConfig: {} });
  expect(server.requests.filter((request) => request.endsWith(":setIamPolicy"))).toHaveLength(1);
});

test("keeps other publishers", async () => {
  const bindings = [{ role: "roles/pubsub.publisher", members: ["user:ann@example.com"] }];
  await server.pubsub.answer({ method: "PUT", path: options.topic, body: {}, gone: signal });
  const body = { policy: { etag: "BwX", bindings } };
  await server.pubsub.answer({ method: "POST", path: `${options.topic}:setIamPolicy`, body, gone: signal });
  await preparePubsub(options);
  expect(server.pubsub.mayPublish(options.topic, "user:ann@example.com")).toBe(true);
  expect(server.pubsub.mayPublish(options.topic, GMAIL_PUBLISHER)).toBe(true);
});

test("refuses a subscription that belongs to another topic", async () => {
  await preparePubsub(options);
  const other = { ...options, topic: `${options.topic}-other` };
  await expect(preparePubsub(other)).rejects.toMatchObject({
    name: "MailError",
    message: expect.stringMatching(/belongs to projects\/test\/topics\/mail-\d+, not to/),
  });
});

test.each([
  [/^PUT .*\/topics\//, /cannot create the topic projects\/test\/topics\//],
  [/:getIamPolicy$/, /cannot allow Gmail to publish on/],
  [/:setIamPolicy$/, /cannot allow Gmail to publish on/],
  [/^PUT .*\/subscriptions\//, /cannot create the subscription/],
])("names the refused step: %s", async (step, message) => {
  server.intercept = (request) =>
    step.test(request)
      ? googleError(403, "PERMISSION_DENIED", "User not authorized to perform this action.")
      : undefined;
  await expect(preparePubsub(options)).rejects.toMatchObject({
    name: "MailError",
    kind: "login",
    message: expect.stringMatching(message),
  });
});
