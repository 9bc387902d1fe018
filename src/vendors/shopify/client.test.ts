import { accessTo, describeRefusals } from "../../../test/support/vendors/refusals.ts";
import type { HookApi, WantedHook } from "../../core/ports/vendor.ts";
import { webhooks } from "./webhooks.ts";

const url = "https://hooks.example.com/hooks/shopify";
const wanted: WantedHook = { url, events: ["orders/create"], all: false };
const hooksAt = (baseUrl: string): HookApi => webhooks.connect(accessTo(baseUrl, { place: "acme" }));

const throttleStatus = { maximumAvailable: 1000, currentlyAvailable: 100, restoreRate: 50 };

describeRefusals("Shopify", {
  uses: {
    "finding a webhook": { call: (baseUrl) => hooksAt(baseUrl).find(url) },
    "making a webhook": { call: (baseUrl) => hooksAt(baseUrl).create(wanted) },
    "changing a webhook": { call: async (baseUrl) => hooksAt(baseUrl).update("1", wanted) },
    "removing a webhook": { call: (baseUrl) => hooksAt(baseUrl).remove("1") },
    "the health of a webhook": { call: (baseUrl) => hooksAt(baseUrl).health("1", []) },
  },
  limits: {
    "of points": {
      status: 200,
      body: {
        errors: [{ message: "Throttled", extensions: { code: "THROTTLED" } }],
        extensions: { cost: { requestedQueryCost: 500, actualQueryCost: null, throttleStatus } },
      },
      retryAfterMs: 8000,
    },
    "by its status": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
  },
  refusal: { errors: "No." },
});
