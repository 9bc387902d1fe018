/** Google Chat over HTTP: its samples with a token that Google's keys sign, and tokens that are not for this hook. */
import { readFileSync } from "node:fs";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findSamples } from "../../src/service/authoring/sample.ts";
import { PRESETS_FOLDER } from "../../src/core/config/presets/file.ts";
import { startJsonServer } from "../support/json-server.ts";
import { type Service, startService } from "../support/service.ts";

const AUDIENCE = "https://hooks.example.com/hooks/googlechat";
const ACCOUNT = "chat@system.gserviceaccount.com";
const SAMPLES = findSamples(PRESETS_FOLDER).find(({ name }) => name === "googlechat")?.samples ?? [];

const ours = await generateKeyPair("RS256", { extractable: true });
const other = await generateKeyPair("RS256");
const publicPem = Buffer.from(await exportSPKI(ours.publicKey));

let keys: Awaited<ReturnType<typeof startJsonServer>>;
let service: Service;
beforeAll(async () => {
  const jwk = { ...(await exportJWK(ours.publicKey)), kid: "key-1", alg: "RS256", use: "sig" };
  keys = await startJsonServer(() => ({ status: 200, body: { keys: [jwk] } }));
  const options = { audience: AUDIENCE, keysUrl: keys.url, deliver: false };
  const addOn = { path: "addon", serviceAccount: "service-1@gcp-sa-gsuiteaddons.iam.gserviceaccount.com" };
  const presets = [
    { use: "googlechat", with: options },
    { use: "googlechat", with: { ...options, ...addOn } },
  ];
  service = await startService({ config: { hooks: { presets } } });
});
afterAll(async () => {
  await service.close();
  await keys.close();
});

interface Token {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  key?: Parameters<SignJWT["sign"]>[0];
}

function sign({ claims, header, key = ours.privateKey }: Token = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const usual = { iss: "https://accounts.google.com", aud: AUDIENCE, email: ACCOUNT, email_verified: true };
  return new SignJWT({ ...usual, iat: now, exp: now + 3600, ...claims })
    .setProtectedHeader({ alg: "RS256", kid: "key-1", ...header })
    .sign(key);
}

function post(body: string, token: string, hook = "googlechat"): Promise<Response> {
  return fetch(`${service.url}/hooks/${hook}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body,
  });
}

const MESSAGE = readFileSync(`${PRESETS_FOLDER}/googlechat/samples/mention.json`, "utf8");

test.each(SAMPLES)("sample $name", async ({ file }) => {
  const response = await post(readFileSync(`${file}.json`, "utf8"), await sign());
  expect(response.status).toBe(200);
  const event = await service.api(`/api/events/${response.headers.get("x-request-id")}`);
  const expected = JSON.parse(readFileSync(`${file}.expected.json`, "utf8"));
  expect(event).toMatchObject({ credential: "auth:googlechat", event: expected.event });
  expect(event.actions).toHaveLength(expected.actions.length);
  // An add-on repeats the token in the body.
  expect(JSON.stringify(event)).not.toMatch(/aaaa\.bbbb\.cccc|legacy|token=x/);
});

test.each<[string, Token]>([
  ["another audience", { claims: { aud: "https://hooks.example.com/hooks/other" } }],
  ["no audience", { claims: { aud: undefined } }],
  ["another account", { claims: { email: "chat@other.iam.gserviceaccount.com" } }],
  ["no account", { claims: { email: undefined } }],
  ["an account that is not verified", { claims: { email_verified: undefined } }],
  ["another issuer", { claims: { iss: ACCOUNT } }],
  ["no issuer", { claims: { iss: undefined } }],
  ["no expiry", { claims: { exp: undefined } }],
  ["an expiry in the past", { claims: { exp: Math.floor(Date.now() / 1000) - 600 } }],
  ["another key", { key: other.privateKey }],
  ["the public key as a shared secret", { key: publicPem, header: { alg: "HS256" } }],
])("a token with %s is refused", async (_, token) => {
  expect((await post(MESSAGE, await sign(token))).status).toBe(401);
});

test("a token that is not signed is refused", async () => {
  const [, claims] = (await sign()).split(".");
  const header = Buffer.from('{"alg":"none"}').toString("base64url");
  expect((await post(MESSAGE, `${header}.${claims}.`)).status).toBe(401);
});

test("the token of an add-on is for its own account", async () => {
  expect((await post(MESSAGE, await sign(), "addon")).status).toBe(401);
  const claims = { email: "service-1@gcp-sa-gsuiteaddons.iam.gserviceaccount.com" };
  expect((await post(MESSAGE, await sign({ claims }), "addon")).status).toBe(200);
  expect((await post(MESSAGE, await sign({ claims }))).status).toBe(401);
});

test("a message that Google sends again runs once, with any token", async () => {
  const body = MESSAGE.replaceAll("xyz.xyz", "again.again");
  expect((await post(body, await sign())).headers.has("idempotency-replayed")).toBe(false);
  const claims = { iat: Math.floor(Date.now() / 1000) - 5 };
  expect((await post(body, await sign({ claims }))).headers.get("idempotency-replayed")).toBe("true");
});
