import { accessTo, describeRefusals } from "../../../test/support/vendors/refusals.ts";
import type { HookApi, WantedHook } from "../../core/ports/vendor.ts";
import { createBitbucket } from "./comments.ts";
import { webhooks } from "./webhooks.ts";

const { signal } = new AbortController();
const url = "https://hooks.example.com/hooks/bitbucket";
const wanted: WantedHook = { url, secret: "s", events: ["issue:created"], all: false };
const COMMENT = "issue-comment-5";

const hooksAt = (baseUrl: string): HookApi => webhooks.connect(accessTo(baseUrl, { place: "acme/app" }));
const channelAt = (baseUrl: string) => createBitbucket({ token: "t", baseUrl });
const send = (baseUrl: string, more: object = {}) =>
  channelAt(baseUrl).send({ to: "acme/app#1", text: "Hello.", idempotencyKey: "d:0", ...more }, signal);

describeRefusals("Bitbucket", {
  uses: {
    "a comment": { call: (baseUrl) => send(baseUrl) },
    "a comment that may be there": { call: (baseUrl) => send(baseUrl, { mayBeSent: true }) },
    "an edited comment": { call: (baseUrl) => send(baseUrl, { replaces: COMMENT }) },
    "a removed comment": {
      call: async (baseUrl) => channelAt(baseUrl).remove?.("acme/app#1", COMMENT, signal),
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
    "without a time": { status: 429, text: "Rate limit for this resource has been exceeded", retryAfterMs: 60_000 },
  },
});
