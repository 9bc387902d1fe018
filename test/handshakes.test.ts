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

let service: Service;
beforeAll(async () => {
  const mappings = Object.entries(AUTHS).map(([scheme, options]): MappingInput => ({
    match: { path: scheme },
    auth: { scheme, ...options },
    messageTemplate: "x",
  }));
  service = await startService({ config: { hooks: { mappings } } });
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
