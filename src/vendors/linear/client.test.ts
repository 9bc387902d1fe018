import { accessTo, describeRefusals } from "../../../test/support/vendors/refusals.ts";
import type { HookApi, WantedHook } from "../../core/ports/vendor.ts";
import { createLinear } from "./comments.ts";
import { webhooks } from "./webhooks.ts";

const { signal } = new AbortController();
const url = "https://hooks.example.com/hooks/linear";
const wanted: WantedHook = { url, secret: "s", events: ["Issue.create"], all: false };
const THREAD = "00000000-0000-4000-8000-000000000001";
const SESSION = `ENG-1/s${THREAD}`;

const hooksAt = (baseUrl: string): HookApi => webhooks.connect(accessTo(baseUrl));
const channelAt = (baseUrl: string) => createLinear({ token: "t", baseUrl });
const send = (baseUrl: string, message: object) =>
  channelAt(baseUrl).send({ to: "ENG-1", text: "Hello.", idempotencyKey: "d:0", ...message }, signal);

const refusal = (extensions: object) => ({ errors: [{ message: "Too fast", extensions }] });
const inAnHour = String(Date.now() + 3_600_000);

describeRefusals("Linear", {
  uses: {
    "a comment": { call: (baseUrl) => send(baseUrl, {}) },
    "a comment that may be there": { call: (baseUrl) => send(baseUrl, { mayBeSent: true }) },
    "an edited comment": { call: (baseUrl) => send(baseUrl, { replaces: THREAD }) },
    "a removed comment": { call: async (baseUrl) => channelAt(baseUrl).remove?.("ENG-1", THREAD, signal) },
    "a response": { call: (baseUrl) => send(baseUrl, { to: SESSION }) },
    "a reaction": { call: async (baseUrl) => channelAt(baseUrl).startWorking?.("ENG-1", signal) },
    "a thought": { call: async (baseUrl) => channelAt(baseUrl).startWorking?.(SESSION, signal) },
    "finding a webhook": { call: (baseUrl) => hooksAt(baseUrl).find(url) },
    "making a webhook": { call: (baseUrl) => hooksAt(baseUrl).create(wanted) },
    "changing a webhook": { call: async (baseUrl) => hooksAt(baseUrl).update("4", wanted) },
    "removing a webhook": { call: (baseUrl) => hooksAt(baseUrl).remove("4") },
    "the health of a webhook": { call: (baseUrl) => hooksAt(baseUrl).health("4", []) },
  },
  limits: {
    "by its type": {
      status: 400,
      headers: { "x-ratelimit-requests-remaining": "0", "x-ratelimit-requests-reset": inAnHour },
      body: refusal({ type: "ratelimited" }),
      retryAfterMs: 3_000_000,
    },
    "by its code, with status 200": {
      status: 200,
      headers: { "x-ratelimit-complexity-remaining": "9", "x-ratelimit-complexity-reset": inAnHour },
      body: refusal({ code: "RATELIMITED" }),
      retryAfterMs: 3_000_000,
    },
    "by its status": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
  },
});
