import { accessTo, describeRefusals } from "../../../test/support/vendors/refusals.ts";
import type { HookApi, WantedHook } from "../../core/ports/vendor.ts";
import { createPagerduty } from "./comments.ts";
import { webhooks } from "./webhooks.ts";

const { signal } = new AbortController();
const url = "https://hooks.example.com/hooks/pagerduty";
const wanted: WantedHook = { url, events: ["incident.triggered"], all: false };
const INCIDENT = "Q02JTSNZWHSEKV";

const hooksAt = (baseUrl: string): HookApi => webhooks.connect(accessTo(baseUrl));
const send = (baseUrl: string, more: object = {}) =>
  createPagerduty({ token: "t", from: "agent@acme.test", baseUrl }).send(
    { to: INCIDENT, text: "Hello.", idempotencyKey: "d:0", ...more },
    signal,
  );

describeRefusals("PagerDuty", {
  uses: {
    "a note": { call: (baseUrl) => send(baseUrl) },
    "a note that may be there": { call: (baseUrl) => send(baseUrl, { mayBeSent: true }) },
    "an edited note": { call: (baseUrl) => send(baseUrl, { replaces: "PWL7QXS" }), expected: [404] },
    "finding a webhook": { call: (baseUrl) => hooksAt(baseUrl).find(url) },
    "making a webhook": { call: (baseUrl) => hooksAt(baseUrl).create(wanted) },
    "changing a webhook": { call: async (baseUrl) => hooksAt(baseUrl).update("P1", wanted) },
    "removing a webhook": { call: (baseUrl) => hooksAt(baseUrl).remove("P1"), expected: [404] },
    "the health of a webhook": { call: (baseUrl) => hooksAt(baseUrl).health("P1", []) },
    "a test delivery": { call: async (baseUrl) => hooksAt(baseUrl).test?.("P1") },
  },
  limits: {
    "with a time": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
    "with its reset": { status: 429, headers: { "ratelimit-reset": "30" }, body: {}, retryAfterMs: 30_000 },
  },
});
