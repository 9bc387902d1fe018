import { expect, test } from "vitest";
import { startJsonServer } from "../../../test/support/json-server.ts";
import { accessTo, describeRefusals } from "../../../test/support/vendors/refusals.ts";
import type { HookApi, WantedHook } from "../../core/ports/vendor.ts";
import { createZendesk } from "./comments.ts";
import { webhooks } from "./webhooks.ts";

const url = "https://hooks.example.com/hooks/zendesk";
const wanted: WantedHook = { url, events: ["ticket.created"], all: false };
const hooksAt = (baseUrl: string): HookApi => webhooks.connect(accessTo(baseUrl, { place: "acme" }));

const send = (baseUrl: string, more: object = {}) =>
  createZendesk({ token: "ada@example.com/token:t", baseUrl }).send(
    { to: "12", text: "Hello.", idempotencyKey: "d:0", ...more },
    AbortSignal.timeout(600_000),
  );

describeRefusals("Zendesk", {
  uses: {
    "a comment": { call: (baseUrl) => send(baseUrl) },
    "a comment that may be there": { call: (baseUrl) => send(baseUrl, { mayBeSent: true }) },
    "finding a webhook": { call: (baseUrl) => hooksAt(baseUrl).find(url) },
    "making a webhook": { call: (baseUrl) => hooksAt(baseUrl).create(wanted) },
    "the secret of a new webhook": {
      call: (baseUrl) => hooksAt(baseUrl).create(wanted),
      before: { "/api/v2/webhooks": { webhook: { id: "w1" } } },
    },
    "changing a webhook": { call: async (baseUrl) => hooksAt(baseUrl).update("w1", wanted) },
    "removing a webhook": { call: (baseUrl) => hooksAt(baseUrl).remove("w1"), expected: [404] },
    "the health of a webhook": { call: (baseUrl) => hooksAt(baseUrl).health("w1", []) },
    "the last deliveries of a webhook": {
      call: (baseUrl) => hooksAt(baseUrl).health("w1", []),
      before: { "/api/v2/webhooks/w1": { webhook: { status: "active" } } },
    },
    "a test delivery": {
      call: async (baseUrl) => hooksAt(baseUrl).test?.("w1"),
      before: { "/api/v2/webhooks/w1": { webhook: { endpoint: url } } },
    },
  },
  limits: {
    "with a time": { status: 429, headers: { "retry-after": "93" }, body: {}, retryAfterMs: 93_000 },
    "with its reset": { status: 429, headers: { "ratelimit-reset": "41" }, body: {}, retryAfterMs: 41_000 },
  },
});

test("a closed ticket is a permanent refusal, with Zendesk's reason", async () => {
  // https://developer.zendesk.com/api-reference/ticketing/tickets/tickets/
  const details = { status: [{ description: "Status: closed prevents ticket update" }] };
  const body = { error: "RecordInvalid", description: "Record validation errors", details };
  const server = await startJsonServer(() => ({ status: 422, body }));
  await expect(send(server.url)).rejects.toMatchObject({
    retryable: false,
    message: "Zendesk answered 422: Status: closed prevents ticket update. A closed ticket takes no comments.",
  });
  await server.close();
});
