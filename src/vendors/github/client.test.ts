import { generateKeyPairSync } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { type JsonAnswer, type JsonRequest, startJsonServer } from "../../../test/support/json-server.ts";
import { failureOf } from "../../contracts/harness.ts";
import type { ApiAccess, MissedOptions, WantedHook } from "../../core/ports/vendor.ts";
import { createGithub } from "./comments.ts";
import { github } from "./index.ts";

const { privateKey: key } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});
const signal = AbortSignal.timeout(600_000);
const URL = "https://hooks.example.com/hooks/github";
const WANTED: WantedHook = { url: URL, secret: "s", events: ["issues.opened"], all: false };
const COMMIT = "0".repeat(40);

let close = async (): Promise<void> => undefined;
afterEach(() => close());

async function start(answer: (request: JsonRequest) => JsonAnswer): Promise<string> {
  const server = await startJsonServer(answer);
  close = () => server.close();
  return server.url;
}

const access = (baseUrl: string, more: Partial<ApiAccess> = {}): ApiAccess => ({
  baseUrl,
  token: "t",
  place: "acme/app",
  account: {},
  signal,
  ...more,
});
const hooks = (baseUrl: string) => github.webhooks!.connect(access(baseUrl));
const asApp = (baseUrl: string) =>
  github.webhooks!.connect(access(baseUrl, { token: "", account: { app: { id: "1", key } } }));
const missed = (baseUrl: string) =>
  github.openMissed!(access(baseUrl), { url: URL, events: [] } as Partial<MissedOptions> as MissedOptions);
const message = (to: string) => ({ to, text: "Hello.", idempotencyKey: "d:0" });
const send = (baseUrl: string, to: string, options: object = { token: "t" }) =>
  createGithub({ ...options, baseUrl }).send(message(to), signal);

/** What is answered before the call that fails. */
const BEFORE: Record<string, unknown> = {
  "/repos/acme/app/hooks?per_page=100&page=1": [{ id: 4, config: { url: URL } }],
  "/repos/acme/app/pulls/1": { head: { sha: "f".repeat(40) }, base: { sha: "e".repeat(40) } },
  "/repos/acme/app/installation": { id: 7 },
};

/** Each part that calls GitHub. `after`: the paths that succeed first. */
const PARTS: [part: string, call: (baseUrl: string) => Promise<unknown>, after?: string[]][] = [
  ["comment", (url) => send(url, "acme/app#1")],
  ["discussion", (url) => send(url, "acme/app/discussions/1")],
  ["installation", (url) => send(url, "acme/app#1", { app: { id: "1", key } })],
  ["token of an installation", (url) => send(url, "acme/app#1", { app: { id: "1", installation: "7", key } })],
  ["reads", async (url) => createGithub({ baseUrl: url, app: { id: "1", key } }).openReads?.("acme/app", signal)],
  ["diff", (url) => createGithub({ token: "t", baseUrl: url }).readDiff!("acme/app#1", COMMIT, signal)],
  [
    "diff of an earlier commit",
    (url) => createGithub({ token: "t", baseUrl: url }).readDiff!("acme/app#1", COMMIT, signal),
    ["/repos/acme/app/pulls/1"],
  ],
  ["find", (url) => hooks(url).find(URL)],
  ["create", (url) => hooks(url).create(WANTED)],
  ["update", async (url) => hooks(url).update("4", WANTED)],
  ["remove", (url) => hooks(url).remove("4")],
  ["health", (url) => hooks(url).health("4", [])],
  ["test", async (url) => hooks(url).test?.("4")],
  ["find, of an app", (url) => asApp(url).find(URL)],
  ["create, of an app", (url) => asApp(url).create(WANTED)],
  ["missed", (url) => missed(url)],
  ["deliveries", async (url) => (await missed(url)).find(0), ["/repos/acme/app/hooks?per_page=100&page=1"]],
  [
    "delivery",
    async (url) => (await missed(url)).repeat({ id: "5", order: "", event: "" }),
    ["/repos/acme/app/hooks?per_page=100&page=1"],
  ],
];

async function failWith(answer: JsonAnswer, call: (baseUrl: string) => Promise<unknown>, after: string[] = []) {
  const url = await start(({ path = "" }) => (after.includes(path) ? { status: 200, body: BEFORE[path] } : answer));
  return failureOf(call(url));
}

describe.each(PARTS)("%s", (_part, call, after) => {
  test.each<[string, JsonAnswer, number]>([
    [
      "of requests",
      { status: 403, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "4102444800" }, body: {} },
      1e11,
    ],
    ["with a time", { status: 403, headers: { "retry-after": "9" }, body: { message: "Forbidden" } }, 9000],
    ["without a time", { status: 403, body: { message: "You have exceeded a secondary rate limit." } }, 60_000],
    ["by its status", { status: 429, headers: { "retry-after": "2" }, body: {} }, 2000],
  ])("a limit %s ends, and is retryable", async (_limit, answer, atLeastMs) => {
    const error = await failWith(answer, call, after);
    expect(error).toMatchObject({ retryable: true });
    expect(error.retryAfterMs).toBeGreaterThanOrEqual(atLeastMs);
  });

  test("500 is retryable", async () => {
    expect(await failWith({ status: 500, body: {} }, call, after)).toMatchObject({ retryable: true });
  });
});

const NOT_REFUSED = new Set(["diff of an earlier commit"]);

test.each(PARTS.filter(([part]) => !NOT_REFUSED.has(part)))(
  "%s: 401 and 403 are permanent, and say what to do",
  async (_part, call, after) => {
    for (const status of [401, 403]) {
      const error = await failWith({ status, body: { message: "No." } }, call, after);
      expect(error).toMatchObject({
        retryable: false,
        message: expect.stringMatching(/^GitHub answered 40[13]: No\. \w/),
      });
      await close();
    }
  },
);

test.each(PARTS.filter(([part]) => !/^(?:create, of an app|update|remove|test|delivery)/.test(part)))(
  "%s: a page in place of an answer is retryable",
  async (_part, call, after) => {
    const error = await failWith(
      { status: 200, headers: { "content-type": "text/html" }, text: "<h1>Sign in</h1>" },
      call,
      after,
    );
    expect(error).toMatchObject({ retryable: true, message: "The answer of GitHub could not be read." });
  },
);
