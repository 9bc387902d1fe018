import { accessTo, describeRefusals } from "../../../test/support/vendors/refusals.ts";
import type { HookApi, WantedHook } from "../../core/ports/vendor.ts";
import { createJira } from "./comments.ts";
import { webhooks } from "./webhooks.ts";

const { signal } = new AbortController();
const url = "https://hooks.example.com/hooks/jira";
const wanted: WantedHook = { url, secret: "s", events: ["jira:issue_created"], all: false };
const COMMENT = "comment_5";

const hooksAt = (baseUrl: string): HookApi => webhooks.connect(accessTo(baseUrl));
const channelAt = (baseUrl: string) => createJira({ token: "t", baseUrl });
const send = (baseUrl: string, more: object = {}) =>
  channelAt(baseUrl).send({ to: "SHOP-1", text: "Hello.", idempotencyKey: "d:0", ...more }, signal);

describeRefusals("Jira", {
  uses: {
    "a comment": { call: (baseUrl) => send(baseUrl) },
    "a comment that may be there": { call: (baseUrl) => send(baseUrl, { mayBeSent: true }) },
    "an edited comment": { call: (baseUrl) => send(baseUrl, { replaces: COMMENT }) },
    "a removed comment": {
      call: async (baseUrl) => channelAt(baseUrl).remove?.("SHOP-1", COMMENT, signal),
      expected: [404],
    },
    "finding a webhook": { call: (baseUrl) => hooksAt(baseUrl).find(url) },
    "making a webhook": { call: (baseUrl) => hooksAt(baseUrl).create(wanted) },
    "changing a webhook": { call: async (baseUrl) => hooksAt(baseUrl).update("4", wanted) },
    "removing a webhook": { call: (baseUrl) => hooksAt(baseUrl).remove("4"), expected: [404] },
    "the health of a webhook": { call: (baseUrl) => hooksAt(baseUrl).health("4", []) },
  },
  limits: {
    "with a time": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
    "with a date": { status: 429, headers: { "x-ratelimit-reset": "2100-01-01T00:00Z" }, body: {}, retryAfterMs: 1e11 },
  },
});
