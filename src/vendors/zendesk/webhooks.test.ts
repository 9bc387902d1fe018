import { accessTo, describeRefusals } from "../../../test/support/vendors/refusals.ts";
import type { HookApi, WantedHook } from "../../core/ports/vendor.ts";
import { webhooks } from "./webhooks.ts";

const url = "https://hooks.example.com/hooks/zendesk";
const wanted: WantedHook = { url, events: ["ticket.created"], all: false };
const hooksAt = (baseUrl: string): HookApi => webhooks.connect(accessTo(baseUrl, { place: "acme" }));

describeRefusals("Zendesk", {
  uses: {
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
