import { accessTo, type ApiUse, describeRefusals } from "../../../test/support/vendors/refusals.ts";
import type { OutgoingMessage, Review } from "../../core/ports/channel.ts";
import type { HookApi, WantedHook } from "../../core/ports/vendor.ts";
import { createGitlab } from "./comments.ts";
import { openMissed } from "./missed.ts";
import { webhooks } from "./webhooks.ts";

const { signal } = new AbortController();
const place = "acme/app";
const url = "https://hooks.example.com/hooks/gitlab";
const wanted: WantedHook = { url, secret: "s", events: ["issue.open"], all: false };
const NOTES = "/api/v4/projects/acme%2Fapp/merge_requests/1/notes";
const review: Review = { verdict: "approve", commit: "0".repeat(40), comments: [] };

const hooksAt = (baseUrl: string): HookApi => webhooks.connect(accessTo(baseUrl, { place }));
const missedAt = (baseUrl: string) =>
  openMissed(accessTo(baseUrl, { place }), {
    url,
    events: [],
    readKnown: async () => new Set<string>(),
    enter: async () => {},
  });
const HOOKS = { "/api/v4/projects/acme%2Fapp/hooks?per_page=100&page=1": [{ id: 4, url }] };
const channelAt = (baseUrl: string) => createGitlab({ token: "t", baseUrl });
const send = (baseUrl: string, to: string, more: Partial<OutgoingMessage> = {}) =>
  channelAt(baseUrl).send({ to, text: "Hello.", idempotencyKey: "d:0", ...more }, signal);
const repeat: ApiUse["call"] = async (baseUrl) => (await missedAt(baseUrl)).repeat({ id: "5", order: "", event: "" });

describeRefusals("GitLab", {
  uses: {
    "a note": { call: (baseUrl) => send(baseUrl, "acme/app#1") },
    "a note that may be there": { call: (baseUrl) => send(baseUrl, "acme/app#1", { mayBeSent: true }) },
    "an edited note": { call: (baseUrl) => send(baseUrl, "acme/app#1", { replaces: "note_1" }) },
    "a removed note": {
      call: async (baseUrl) => channelAt(baseUrl).remove?.("acme/app#1", "note_1", signal),
      expected: [404],
    },
    "a reaction": { call: async (baseUrl) => channelAt(baseUrl).startWorking?.("acme/app#1", signal) },
    "a diff": {
      call: async (baseUrl) => channelAt(baseUrl).readDiff?.("acme/app!1", review.commit, signal),
      expected: [404],
    },
    "a review": { call: (baseUrl) => send(baseUrl, "acme/app!1", { review }) },
    "an approval": {
      call: (baseUrl) => send(baseUrl, "acme/app!1", { review }),
      before: { [NOTES]: { id: 1 } },
      expected: [401, 403, 404],
    },
    "finding a webhook": { call: (baseUrl) => hooksAt(baseUrl).find(url) },
    "making a webhook": { call: (baseUrl) => hooksAt(baseUrl).create(wanted) },
    "changing a webhook": { call: async (baseUrl) => hooksAt(baseUrl).update("4", wanted) },
    "removing a webhook": { call: (baseUrl) => hooksAt(baseUrl).remove("4"), expected: [404] },
    "the health of a webhook": { call: (baseUrl) => hooksAt(baseUrl).health("4", []) },
    "a test delivery": { call: async (baseUrl) => hooksAt(baseUrl).test?.("4") },
    "the webhook of missed events": { call: missedAt },
    "missed events": { call: async (baseUrl) => (await missedAt(baseUrl)).find(0), before: HOOKS },
    "repeating a missed event": { call: repeat, before: HOOKS },
  },
  limits: {
    "with a time": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
    "with the end of its minute": {
      status: 429,
      headers: { "ratelimit-reset": "4102444800" },
      body: { message: { error: "This endpoint has been requested too many times. Try again later." } },
      retryAfterMs: 1e11,
    },
    "without a time": { status: 429, text: "Retry later\n", retryAfterMs: 60_000 },
  },
});
