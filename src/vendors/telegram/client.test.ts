import { accessTo, describeRefusals } from "../../../test/support/vendors/refusals.ts";
import type { HookApi, WantedHook } from "../../core/ports/vendor.ts";
import { createTelegram } from "./channel.ts";
import { webhooks } from "./webhooks.ts";

const { signal } = new AbortController();
const url = "https://hooks.example.com/hooks/telegram";
const wanted: WantedHook = { url, secret: "s", events: ["message"], all: false };

const hooksAt = (baseUrl: string): HookApi => webhooks.connect(accessTo(baseUrl));
const channelAt = (baseUrl: string) => createTelegram({ token: "1:t", baseUrl });
const send = (baseUrl: string, more: object = {}) =>
  channelAt(baseUrl).send({ to: "42", text: "Hello.", idempotencyKey: "d:0", ...more }, signal);

describeRefusals("Telegram", {
  uses: {
    "a message": { call: (baseUrl) => send(baseUrl) },
    "an edited message": { call: (baseUrl) => send(baseUrl, { replaces: "42:7" }) },
    "a removed message": { call: async (baseUrl) => channelAt(baseUrl).remove?.("42", "42:7", signal) },
    "a typing notice": { call: async (baseUrl) => channelAt(baseUrl).startWorking?.("42", signal) },
    "finding a webhook": { call: (baseUrl) => hooksAt(baseUrl).find(url) },
    "finding another webhook": { call: async (baseUrl) => hooksAt(baseUrl).findOther?.(url) },
    "making a webhook": { call: (baseUrl) => hooksAt(baseUrl).create(wanted) },
    "changing a webhook": { call: async (baseUrl) => hooksAt(baseUrl).update("bot", wanted) },
    "removing a webhook": { call: (baseUrl) => hooksAt(baseUrl).remove("bot") },
    "the health of a webhook": { call: (baseUrl) => hooksAt(baseUrl).health("bot", []) },
  },
  limits: {
    "in its body": {
      status: 429,
      body: { ok: false, error_code: 429, description: "Too Many Requests", parameters: { retry_after: 9 } },
      retryAfterMs: 9000,
    },
    "of a proxy": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
  },
  refusal: { ok: false, description: "No." },
});
