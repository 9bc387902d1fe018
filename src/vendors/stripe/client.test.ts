import { accessTo, describeRefusals } from "../../../test/support/vendors/refusals.ts";
import type { HookApi, WantedHook } from "../../core/ports/vendor.ts";
import { openMissed } from "./missed.ts";
import { webhooks } from "./webhooks.ts";

const url = "https://hooks.example.com/hooks/stripe";
const wanted: WantedHook = { url, events: ["invoice.paid"], all: false };
const hooksAt = (baseUrl: string): HookApi => webhooks.connect(accessTo(baseUrl));
const findMissed = async (baseUrl: string) =>
  (
    await openMissed(accessTo(baseUrl), {
      url,
      events: ["invoice.paid"],
      readKnown: async () => new Set<string>(),
      enter: async () => {},
    })
  ).find(0);

describeRefusals("Stripe", {
  uses: {
    "finding a webhook": { call: (baseUrl) => hooksAt(baseUrl).find(url) },
    "making a webhook": { call: (baseUrl) => hooksAt(baseUrl).create(wanted) },
    "changing a webhook": { call: async (baseUrl) => hooksAt(baseUrl).update("we_1", wanted) },
    "removing a webhook": { call: (baseUrl) => hooksAt(baseUrl).remove("we_1"), expected: [404] },
    "the health of a webhook": { call: (baseUrl) => hooksAt(baseUrl).health("we_1", []) },
    "missed events": { call: findMissed },
  },
  limits: {
    "by its status": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
  },
});
