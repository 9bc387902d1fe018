import { expect, test } from "vitest";
import { startComments } from "../../../test/support/comment-server.ts";
import { describeRefusals } from "../../../test/support/vendors/refusals.ts";
import { describeComments, TOKEN } from "../../../test/support/comment-suite.ts";
import { sentry } from "../../../test/support/comment-services.ts";
import { openFaultServer } from "../../../test/support/fault-server.ts";
import { createSentry } from "./comments.ts";

const open = (baseUrl: string) => createSentry({ token: TOKEN, organization: "acme", baseUrl });

describeComments("sentry", {
  service: sentry,
  open,
  to: "4501",
  unknown: "4502",
  malformed: ["", "0", "shop-2f", "SHOP", "4501/comments", "../4501", "SHOP-2F/.."],
  raw: "Hello @\u200Bada.\n\n<!-- hookline:d:0 -->",
});

test("an issue can be named by its short id", async () => {
  const server = await startComments(sentry);
  const message = { to: "SHOP-2F", text: "Fixed.", idempotencyKey: "d:0" };
  expect(await open(server.baseUrl).send(message, new AbortController().signal)).toEqual({ messageId: "comment-1" });
  await server.close();
});

test("the end of a rate limit is in a header of Sentry's own", async () => {
  const server = await startComments(sentry);
  const { url, inject, close } = await openFaultServer(server, server.baseUrl);
  const reset = String(Math.ceil(Date.now() / 1000) + 3600);
  inject({ kind: "answer", status: 429, headers: { "x-sentry-rate-limit-reset": reset }, body: "{}" });
  const message = { to: "4501", text: "Fixed.", idempotencyKey: "d:0" };
  const failure = open(url).send(message, new AbortController().signal);
  await expect(failure).rejects.toMatchObject({
    retryable: true,
    retryAfterMs: expect.toSatisfy((ms) => ms > 3_000_000),
  });
  await close();
});

describeRefusals("Sentry", {
  uses: {
    "a comment": { call: (baseUrl) => sendAt(baseUrl) },
    "a comment that may be there": { call: (baseUrl) => sendAt(baseUrl, { mayBeSent: true }) },
    "an edited comment": { call: (baseUrl) => sendAt(baseUrl, { replaces: "comment-1" }) },
    "a removed comment": {
      call: async (baseUrl) => open(baseUrl).remove?.("4501", "comment-1", new AbortController().signal),
      expected: [404],
    },
  },
  limits: {
    "of requests": {
      status: 429,
      headers: { "x-sentry-rate-limit-reset": "4102444800" },
      body: {},
      retryAfterMs: 1e11,
    },
  },
  refusal: { detail: "No." },
});

function sendAt(baseUrl: string, more: object = {}): Promise<unknown> {
  return open(baseUrl).send(
    { to: "4501", text: "Hello.", idempotencyKey: "d:0", ...more },
    AbortSignal.timeout(600_000),
  );
}
