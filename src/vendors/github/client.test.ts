import { generateKeyPairSync } from "node:crypto";
import { accessTo, type ApiUse, describeRefusals } from "../../../test/support/vendors/refusals.ts";
import type { HookApi, WantedHook } from "../../core/ports/vendor.ts";
import { createGithub } from "./comments.ts";
import { openMissed } from "./missed.ts";
import { webhooks } from "./webhooks.ts";

const { privateKey: key } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});
const { signal } = new AbortController();
const place = "acme/app";
const url = "https://hooks.example.com/hooks/github";
const wanted: WantedHook = { url, secret: "s", events: ["issues.opened"], all: false };

const hooksAt = (baseUrl: string): HookApi => webhooks.connect(accessTo(baseUrl, { place }));
const hooksOfApp = (baseUrl: string): HookApi =>
  webhooks.connect(accessTo(baseUrl, { token: "", account: { app: { id: "1", key } } }));
const missedAt = (baseUrl: string) =>
  openMissed(accessTo(baseUrl, { place }), {
    url,
    events: [],
    readKnown: async () => new Set<string>(),
    enter: async () => {},
  });
const HOOKS = { "/repos/acme/app/hooks?per_page=100&page=1": [{ id: 4, config: { url } }] };
const OTHER_HEAD = { "/repos/acme/app/pulls/1": { head: { sha: "f".repeat(40) }, base: { sha: "e".repeat(40) } } };

const send = (baseUrl: string, to: string, options: object = { token: "t" }) =>
  createGithub({ ...options, baseUrl }).send({ to, text: "Hello.", idempotencyKey: "d:0" }, signal);
const readDiff: ApiUse["call"] = async (baseUrl) =>
  createGithub({ token: "t", baseUrl }).readDiff?.("acme/app#1", "0".repeat(40), signal);

describeRefusals("GitHub", {
  uses: {
    "a comment": { call: (baseUrl) => send(baseUrl, "acme/app#1") },
    "a discussion": { call: (baseUrl) => send(baseUrl, "acme/app/discussions/1") },
    "the installation of an app": { call: (baseUrl) => send(baseUrl, "acme/app#1", { app: { id: "1", key } }) },
    "the token of an installation": {
      call: (baseUrl) => send(baseUrl, "acme/app#1", { app: { id: "1", installation: "7", key } }),
    },
    "the credential of a read": {
      call: async (baseUrl) => createGithub({ baseUrl, app: { id: "1", key } }).authorize?.(place, signal),
    },
    "a diff": { call: readDiff, expected: [404] },
    "the diff of an earlier commit": { call: readDiff, before: OTHER_HEAD, expected: [403, 404] },
    "finding a webhook": { call: (baseUrl) => hooksAt(baseUrl).find(url) },
    "making a webhook": { call: (baseUrl) => hooksAt(baseUrl).create(wanted) },
    "changing a webhook": { call: async (baseUrl) => hooksAt(baseUrl).update("4", wanted) },
    "removing a webhook": { call: (baseUrl) => hooksAt(baseUrl).remove("4"), expected: [404] },
    "the health of a webhook": { call: (baseUrl) => hooksAt(baseUrl).health("4", []) },
    "a test delivery": { call: async (baseUrl) => hooksAt(baseUrl).test?.("4") },
    "finding the webhook of an app": { call: (baseUrl) => hooksOfApp(baseUrl).find(url) },
    "setting the webhook of an app": { call: (baseUrl) => hooksOfApp(baseUrl).create(wanted) },
    "the webhook of missed events": { call: missedAt },
    "missed events": { call: async (baseUrl) => (await missedAt(baseUrl)).find(0), before: HOOKS },
    "repeating a missed event": {
      call: async (baseUrl) => (await missedAt(baseUrl)).repeat({ id: "5", order: "", event: "" }),
      before: HOOKS,
    },
  },
  limits: {
    "of requests": {
      status: 403,
      headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "4102444800" },
      body: {},
      retryAfterMs: 1e11,
    },
    "with a time": {
      status: 403,
      headers: { "retry-after": "9" },
      body: { message: "Forbidden" },
      retryAfterMs: 9000,
    },
    "without a time": {
      status: 403,
      body: { message: "You have exceeded a secondary rate limit." },
      retryAfterMs: 60_000,
    },
    "by its status": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
  },
});
