import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { MappingInput } from "../src/core/config/schema/generated.ts";
import { createDiscord, createVerifier } from "./support/signatures.ts";
import { GATEWAY_TOKEN, type Service, startService } from "./support/service.ts";

const SECRET = "a-signing-secret-of-good-length";
const discord = await createDiscord();
const AUTHS = {
  slack: { secret: SECRET },
  meta: { secret: SECRET, verifyToken: "the-verify-token-of-meta" },
  graph: { secret: SECRET },
  zoom: { secret: SECRET },
  dropbox: { secret: SECRET },
  notion: { secret: SECRET },
  asana: { secret: SECRET },
  trello: { secret: SECRET, url: "https://hooks.example.com/hooks/trello" },
  discord: { secret: discord.publicKey },
  jwt: {
    secret: SECRET,
    algorithms: ["HS256"],
    handshake: { when: { challenge: "*" }, answer: { challenge: "{{payload.challenge}}" } },
  },
};

const WEBSUB = {
  "query.hub.mode": "subscribe",
  "query.hub.topic": "https://a.example/feed",
  "query.hub.challenge": "*",
};
const OKTA = "x-okta-verification-challenge";

/** Handshakes that are no POST of an object, by their hook. */
const OWN: Record<string, MappingInput["auth"]> = {
  websub: {
    scheme: "hmac",
    secret: SECRET,
    header: "X-Hub-Signature",
    prefix: "sha256=",
    handshake: { method: "GET", when: WEBSUB, answer: "{{query.hub.challenge}}" },
  },
  okta: {
    scheme: "header",
    secret: SECRET,
    name: "Authorization",
    handshake: { method: "GET", when: { [`headers.${OKTA}`]: "*" }, answer: { verification: `{{headers.${OKTA}}}` } },
  },
  cloudevents: {
    scheme: "basic",
    secret: `user:${SECRET}`,
    handshake: {
      method: "OPTIONS",
      when: { "headers.webhook-request-origin": "*" },
      headers: { "WebHook-Allowed-Origin": "{{headers.WebHook-Request-Origin}}", "WebHook-Allowed-Rate": "120" },
    },
  },
  bracketed: {
    scheme: "token",
    secret: SECRET,
    handshake: [
      { method: "GET", when: { "query['hub.challenge']": "*" }, answer: "1 {{query.[hub.challenge]}}" },
      { method: "HEAD", answer: "", headers: { "X-Here": "yes" } },
    ],
  },
};

let service: Service;
beforeAll(async () => {
  const own = Object.entries(OWN).map(([path, auth]) => ({ match: { path }, auth, messageTemplate: "x" }));
  const mappings = [
    ...Object.entries(AUTHS).map(([scheme, options]): MappingInput => ({
      match: { path: scheme },
      auth: { scheme, ...options },
      messageTemplate: "x",
    })),
    ...own,
  ];
  const presets = [
    { use: "eventgrid", with: { secret: SECRET, deliver: false } },
    { use: "eventgrid", with: { secret: SECRET, path: "grid-of-one", origin: "eventgrid.azure.net", deliver: false } },
  ];
  service = await startService({ config: { hooks: { mappings, presets } } });
});
afterAll(() => service.close());

async function ask(path: string, init: RequestInit = {}) {
  const response = await fetch(`${service.url}/hooks/${path}`, init);
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
}

/** Signed with our own code: what it signs is compared with the vendors' libraries elsewhere. */
async function post(scheme: keyof typeof AUTHS, payload: object, secret = SECRET) {
  const verifier = await createVerifier(scheme, { ...AUTHS[scheme], secret });
  const body = JSON.stringify(payload);
  const request = {
    method: "POST",
    url: "",
    body: Buffer.from(body),
    contentType: "application/json",
    now: Date.now(),
  };
  const { headers } = (await verifier.sign?.(request)) ?? { headers: {} };
  return ask(scheme, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
}

async function newestEvent() {
  const { events } = await service.api("/api/events?limit=1");
  return service.api(`/api/events/${events[0].id}`);
}

const TEXT = "text/plain; charset=utf-8";

test("a signed challenge is echoed, and an unsigned one is refused", async () => {
  const challenge = { type: "url_verification", challenge: "3eZbrw1aB" };
  expect(await post("slack", challenge)).toEqual({ status: 200, type: TEXT, text: "3eZbrw1aB" });
  expect(await newestEvent()).toMatchObject({
    status: "skipped",
    hook: "slack",
    credential: "auth:mapping-0",
    reason: "handshake",
  });
  expect((await post("slack", challenge, "another-secret-of-good-length")).status).toBe(401);
});

test("a challenge of Monday is answered without a token, and other requests are refused", async () => {
  const json = { method: "POST", headers: { "content-type": "application/json" } };
  const answer = await ask("jwt", { ...json, body: '{"challenge":"3eZbrw1aB"}' });
  expect(answer).toMatchObject({ status: 200, text: '{"challenge":"3eZbrw1aB"}' });
  expect(await newestEvent()).toMatchObject({ status: "skipped", hook: "jwt", reason: "handshake" });
  expect((await ask("jwt", { ...json, body: '{"event":{}}' })).status).toBe(401);
});

test("Zoom's token is answered with its HMAC", async () => {
  const answer = await post("zoom", { event: "endpoint.url_validation", payload: { plainToken: "abc" } });
  expect(answer).toMatchObject({ status: 200, type: "application/json; charset=utf-8" });
  const encryptedToken = createHmac("sha256", SECRET).update("abc").digest("hex");
  expect(JSON.parse(answer.text)).toEqual({ plainToken: "abc", encryptedToken });
});

test("GET and HEAD are for the handshakes of the hooks that have one", async () => {
  const meta = "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=";
  expect(await ask(`meta?${meta}the-verify-token-of-meta`)).toEqual({ status: 200, type: TEXT, text: "1158201444" });
  const guess = await ask(`meta?${meta}wrong`);
  expect([guess.status, JSON.parse(guess.text).error]).toEqual([401, expect.stringContaining("hub.verify_token")]);
  expect(await ask("dropbox?challenge=a<b>")).toEqual({ status: 200, type: TEXT, text: "a<b>" });
  expect((await ask("trello", { method: "HEAD" })).status).toBe(200);
  const others = ["meta", "dropbox", "trello", "slack?challenge=a", "wake", "nothing"];
  expect(await Promise.all(others.map(async (path) => (await ask(path)).status))).toEqual(others.map(() => 405));
});

test("Microsoft's validation token is echoed without a signature", async () => {
  const answer = await ask("graph?validationToken=Validation%3A+a%2Bb", { method: "POST" });
  expect(answer).toEqual({ status: 200, type: TEXT, text: "Validation: a+b" });
});

test("Notion's token is shown to the operator", async () => {
  const body = JSON.stringify({ verification_token: "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl" });
  const headers = { "content-type": "application/json" };
  expect((await ask("notion", { method: "POST", headers, body })).status).toBe(200);
  expect(await newestEvent()).toMatchObject({ hook: "notion", reason: expect.stringContaining("secret_tMrlL1qK5vu") });
});

test("a replay does not run the body of a handshake, which anyone could have sent", async () => {
  const headers = { "content-type": "application/json", "x-hook-secret": "a-secret-of-asana" };
  expect((await ask("asana", { method: "POST", headers, body: '{"text":"forged"}' })).status).toBe(200);
  const { id, reason } = await newestEvent();
  expect(reason).toContain("Asana sent the secret a-secret-of-asana");
  const answer = await fetch(`${service.url}/api/events/${id}/replay`, {
    method: "POST",
    headers: { authorization: `Bearer ${GATEWAY_TOKEN}` },
  });
  expect(await answer.json()).toMatchObject({ code: "no_stored_body" });
});

test("Discord's probes with wrong signatures get 401, and do not lock it out", async () => {
  const signed = async (body: string, message = body) => {
    const { headers } = await discord.sign({ method: "POST", url: "", body: Buffer.from(message), now: Date.now() });
    return ask("discord", { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
  };
  for (let probe = 0; probe < 25; probe++) {
    expect((await signed('{"type":1}', "something else")).status).toBeOneOf([401, 429]);
  }
  expect(await signed('{"type":1}')).toMatchObject({ status: 200, text: '{"type":1}' });
  expect((await signed('{"type":1}', "something else")).status).toBe(401);
});

const ORIGIN = { "webhook-request-origin": "a.example" };
const HUB = "hub.mode=subscribe&hub.topic=https%3A%2F%2Fa.example%2Ffeed&hub.challenge=c-1";

interface Asked {
  path: string;
  init?: RequestInit;
  answer?: string;
}

test.each<[string, number, Asked]>([
  ["WebSub", 200, { path: `websub?${HUB}`, answer: "c-1" }],
  ["WebSub for another topic", 405, { path: `websub?${HUB.replace("feed", "other")}` }],
  ["WebSub without a challenge", 401, { path: `websub?${HUB.replace("c-1", "")}` }],
  ["Okta", 200, { path: "okta", init: { headers: { [OKTA]: "c-1" } }, answer: '{"verification":"c-1"}' }],
  ["Okta without its header", 405, { path: "okta" }],
  ["CloudEvents", 200, { path: "cloudevents", init: { method: "OPTIONS", headers: ORIGIN } }],
  ["CloudEvents by GET", 405, { path: "cloudevents", init: { headers: ORIGIN } }],
  ["a name in brackets", 200, { path: "bracketed?hub.challenge=a%0D%0Ab", answer: "1 a\r\nb" }],
  ["the second of a list", 200, { path: "bracketed", init: { method: "HEAD" } }],
])("%s: %i", async (_, status, { path, init, answer = "" }) => {
  const asked = await ask(path, init);
  expect(asked.status).toBe(status);
  if (status !== 200) return;
  expect(asked.text).toBe(answer);
  expect(await newestEvent()).toMatchObject({ status: "skipped", actions: [] });
});

test("a challenge that no header can have is no handshake", async () => {
  const { status } = await ask("cloudevents", { method: "OPTIONS", headers: { "webhook-request-origin": "" } });
  expect(status).toBe(401);
});

test("Azure Event Grid checks the address with an array, or with OPTIONS, and sends both forms", async () => {
  const [eventType, validationCode] = ["Microsoft.EventGrid.SubscriptionValidationEvent", "512d38b6-c7b8-40c8"];
  const topic = `/subscriptions/${"x".repeat(1200)}`;
  const check = [{ id: "1", topic, subject: "", data: { validationCode }, eventType, dataVersion: "1" }];
  const headers = { "content-type": "application/json; charset=utf-8" };
  const body = JSON.stringify(check);
  const asked = await ask("eventgrid", { method: "POST", headers, body });
  expect(asked).toMatchObject({ status: 200, text: JSON.stringify({ validationResponse: validationCode }) });
  const other = JSON.stringify([{ ...check[0], eventType: "Microsoft.Storage.BlobCreated" }]);
  expect((await ask("eventgrid", { method: "POST", headers, body: other })).status).toBe(401);

  for (const [path, origin, status] of [
    ["eventgrid", "any.example", 200],
    ["grid-of-one", "eventgrid.azure.net", 200],
    ["grid-of-one", "any.example", 405],
  ] as const) {
    const request = { method: "OPTIONS", headers: { "WebHook-Request-Origin": origin, "WebHook-Request-Rate": "120" } };
    const answer = await fetch(`${service.url}/hooks/${path}`, request);
    expect([path, answer.status]).toEqual([path, status]);
    expect(answer.headers.get("webhook-allowed-origin")).toBe(status === 200 ? origin : null);
  }

  const signed = { authorization: `Bearer ${SECRET}` };
  const event = {
    id: "2",
    topic: "t",
    subject: "s",
    eventType: "Shop.Paid",
    data: {},
    eventTime: "2026-01-05T09:20:00Z",
  };
  const cloud = { specversion: "1.0", id: "3", source: "t", subject: "s", type: "Shop.Paid", data: {} };
  const array = await ask("eventgrid", {
    method: "POST",
    headers: { ...headers, ...signed },
    body: JSON.stringify([event]),
  });
  const type = { "content-type": "application/cloudevents+json; charset=utf-8" };
  const single = await ask("eventgrid", {
    method: "POST",
    headers: { ...type, ...signed },
    body: JSON.stringify(cloud),
  });
  expect([array, single].map(({ status, text }) => [status, JSON.parse(text).sessionKey])).toEqual([
    [202, "hook:eventgrid:s"],
    [202, "hook:eventgrid:s"],
  ]);
});
