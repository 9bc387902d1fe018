/** Microsoft Teams over HTTP: its bot, with keys that are not Microsoft's, and an outgoing webhook. */
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startJsonServer } from "../support/json-server.ts";
import { type Service, startService } from "../support/service.ts";

const APP = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
const SECRET = Buffer.from("the-security-token-of-the-team").toString("base64");
const mention = JSON.parse(readSample("mention"));

const keys = await generateKeyPair("RS256", { extractable: true });
let keyServer: Awaited<ReturnType<typeof startJsonServer>>;
let service: Service;
beforeAll(async () => {
  const jwk = { ...(await exportJWK(keys.publicKey)), alg: "RS256", use: "sig", kid: "k1" };
  keyServer = await startJsonServer(() => ({ status: 200, body: { keys: [{ ...jwk, endorsements: ["msteams"] }] } }));
  const presets = [
    { use: "teams", with: { appId: APP, keysUrl: keyServer.url, deliver: false } },
    { use: "teams", with: { path: "team", scheme: "outgoing-webhook", secret: SECRET } },
  ];
  service = await startService({ config: { hooks: { presets } } });
});
afterAll(async () => {
  await service.close();
  await keyServer.close();
});

const CLAIMS = { iss: "https://api.botframework.com", aud: APP, serviceurl: mention.serviceUrl };

function signToken(
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
  key: Parameters<SignJWT["sign"]>[0] = keys.privateKey,
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const payload = { ...CLAIMS, nbf: now - 1, exp: now + 3600, ...claims };
  return new SignJWT(payload).setProtectedHeader({ alg: "RS256", kid: "k1", ...header }).sign(key);
}

function post(hook: string, authorization: string, body: string): Promise<Response> {
  const headers = { "content-type": "application/json; charset=utf-8", authorization };
  return fetch(`${service.url}/hooks/${hook}`, { method: "POST", headers, body });
}

const write = (activity: object): string => JSON.stringify({ ...mention, ...activity });

describe("a bot", () => {
  test("gets a mention once", async () => {
    const first = await post("teams", `Bearer ${await signToken()}`, write({ id: "1" }));
    expect(first.status).toBe(202);
    expect(JSON.parse(await first.text())).toMatchObject({ sessionKey: expect.stringContaining(";messageid=") });
    const again = await post("teams", `Bearer ${await signToken()}`, write({ id: "1" }));
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    const elsewhere = { id: "1", conversation: { ...mention.conversation, id: "19:other@thread.tacv2;messageid=1" } };
    const other = await post("teams", `Bearer ${await signToken()}`, write(elsewhere));
    expect(other.headers.has("idempotency-replayed")).toBe(false);
  });

  test.each<[string, Record<string, unknown>]>([
    ["another bot's token", { aud: "another-app" }],
    ["another issuer", { iss: "https://sts.windows.net/72f988bf/" }],
    ["another service address", { serviceurl: "https://attacker.example/" }],
    ["no service address", { serviceurl: undefined }],
    ["no issuer", { iss: undefined }],
    ["no audience", { aud: undefined }],
    ["no expiry", { exp: undefined }],
    ["an old token", { exp: 1_700_000_000 }],
  ])("refuses %s", async (_, claims) => {
    const response = await post("teams", `Bearer ${await signToken(claims)}`, write({ id: "2" }));
    expect(response.status).toBe(401);
  });

  test("refuses a message that names another address for its reply", async () => {
    const body = write({ id: "3", serviceUrl: "https://attacker.example/" });
    expect((await post("teams", `Bearer ${await signToken()}`, body)).status).toBe(401);
    expect((await post("teams", `Bearer ${await signToken()}`, write({ id: "3", serviceUrl: null }))).status).toBe(401);
  });

  test("refuses the public key taken for a shared secret, and a token without a signature", async () => {
    const publicKey = new TextEncoder().encode(await exportSPKI(keys.publicKey));
    const confused = await signToken({}, { alg: "HS256" }, publicKey);
    const [, payload] = (await signToken()).split(".");
    const unsigned = `${Buffer.from('{"alg":"none","kid":"k1"}').toString("base64url")}.${payload}.`;
    for (const token of [confused, unsigned, ""]) {
      expect((await post("teams", `Bearer ${token}`, write({ id: "4" }))).status).toBe(401);
    }
  });
});

describe("an outgoing webhook", () => {
  const sign = (body: string, secret = SECRET): string =>
    `HMAC ${createHmac("sha256", Buffer.from(secret, "base64")).update(body).digest("base64")}`;

  test("is answered with the reply, and a captured request gets the same answer", async () => {
    const body = readSample("outgoing-webhook");
    const response = await post("team", sign(body), body);
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(JSON.parse(text)).toEqual({ type: "message", text: expect.stringContaining("1042") });
    expect(await (await post("team", sign(body), body)).text()).toBe(text);
  });

  test("refuses another token, and a changed message", async () => {
    const body = readSample("outgoing-webhook");
    expect((await post("team", sign(body, Buffer.from("another").toString("base64")), body)).status).toBe(401);
    expect((await post("team", sign(body), body.replace("1042", "1043"))).status).toBe(401);
  });
});

function readSample(name: string): string {
  return readFileSync(new URL(`../../presets/teams/samples/${name}.json`, import.meta.url), "utf8");
}
