import { expect, test } from "vitest";
import { describeComments, TOKEN } from "../../../test/support/comment-suite.ts";
import { startComments } from "../../../test/support/comment-server.ts";
import { chatwoot } from "../../../test/support/comment-services.ts";
import { type JsonRequest, startJsonServer } from "../../../test/support/json-server.ts";
import { describeRefusals } from "../../../test/support/vendors/refusals.ts";
import { createChatwoot } from "./comments.ts";

const { signal } = new AbortController();
const open = (baseUrl: string) => createChatwoot({ token: TOKEN, baseUrl });
const hello = { to: "3/42", text: "Hello.", idempotencyKey: "d:0" };

describeComments("chatwoot", {
  service: chatwoot,
  open,
  to: "3/42",
  unknown: "3/43",
  malformed: ["", "42", "3/0", "0/42", "3/42/messages", "../42", "3/..", "private:3/42", "public:42"],
  raw: expect.stringMatching(/^\u2063\u2063[\u200B-\u200D\u2060]{32}Hello @\u200Bada\.$/),
});

test.each([
  ["3/42", true],
  ["public:3/42", false],
])("%s: a message is for the customer only if the recipient says so", async (to, isPrivate) => {
  const requests: JsonRequest[] = [];
  const server = await startJsonServer((request) => {
    requests.push(request);
    return { status: 200, body: { id: 2 } };
  });
  const text = "{{contact.email}} `{% raw %}`{{b}} [@Ada](mention://user/1/Ada)";
  expect(await open(server.url).send({ ...hello, to, text }, signal)).toEqual({ messageId: "2" });
  await server.close();
  const content: unknown = expect.stringMatching(/\n\n\{\u200B\{contact\.email\}\} (?!.*(?:\{[{%]|mention:))/);
  expect(requests).toMatchObject([
    {
      method: "POST",
      path: "/api/v1/accounts/3/conversations/42/messages",
      headers: { api_access_token: TOKEN },
      body: { content, message_type: "outgoing", private: isPrivate },
    },
  ]);
});

test("a message is found behind many newer ones", async () => {
  const server = await startComments(chatwoot);
  const { messageId } = await open(server.baseUrl).send(hello, signal);
  for (let count = 0; count < 50; count += 1) server.write("Newer.");
  expect(await open(server.baseUrl).send({ ...hello, mayBeSent: true }, signal)).toEqual({ messageId });
  await server.close();
});

describeRefusals("Chatwoot", {
  uses: {
    "a message": { call: (baseUrl) => open(baseUrl).send(hello, signal) },
    "a message that may be there": { call: (baseUrl) => open(baseUrl).send({ ...hello, mayBeSent: true }, signal) },
  },
  limits: { "of requests": { status: 429, headers: { "retry-after": "60" }, body: {}, retryAfterMs: 60_000 } },
  refusal: { error: "No." },
});
