import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startJsonServer } from "../../../test/support/json-server.ts";
import { createVerifier, NOW, toRequest } from "../../../test/support/signatures.ts";
import type { SignatureVerifier } from "../../core/ports/signature.ts";

const AUDIENCE = "https://hooks.example.com/hooks/in";
const ACCOUNT = "push@project.iam.gserviceaccount.com";

const ours = await generateKeyPair("RS256");
const other = await generateKeyPair("RS256");
let isDown = false;
let server: Awaited<ReturnType<typeof startJsonServer>>;
let verifier: SignatureVerifier;

beforeAll(async () => {
  const jwk = { ...(await exportJWK(ours.publicKey)), kid: "key-1", alg: "RS256", use: "sig" };
  server = await startJsonServer(() => ({ status: isDown ? 500 : 200, body: { keys: [jwk] } }));
  verifier = await createVerifier("google-oidc", { audience: AUDIENCE, serviceAccount: ACCOUNT, keysUrl: server.url });
});
afterAll(() => server.close());

interface Token {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  key?: CryptoKey;
}

function sign({ claims, header, key = ours.privateKey }: Token = {}): Promise<string> {
  const now = Math.floor(NOW / 1000);
  const defaults = { iss: "https://accounts.google.com", aud: AUDIENCE, email: ACCOUNT, email_verified: true };
  return new SignJWT({ ...defaults, iat: now - 10, exp: now + 3600, ...claims })
    .setProtectedHeader({ alg: "RS256", kid: "key-1", ...header })
    .sign(key);
}

const verify = (authorization: string) => verifier.verify(toRequest({ headers: { authorization }, body: "{}" }));

test("a token for this hook", async () => {
  const authorization = `Bearer ${await sign()}`;
  expect(verifier.presents(toRequest({ headers: { authorization } }))).toBe(true);
  expect(await verify(authorization)).toBe("valid");
});

test.each<[string, string, Token]>([
  ["for another audience", "wrong", { claims: { aud: "https://other.example.com" } }],
  ["for another account", "wrong", { claims: { email: "push@other.iam.gserviceaccount.com" } }],
  ["for an account that is not verified", "wrong", { claims: { email_verified: "true" } }],
  ["of another issuer", "wrong", { claims: { iss: "https://accounts.example.com" } }],
  ["of two hours ago", "expired", { claims: { exp: Math.floor(NOW / 1000) - 3600 } }],
  ["that does not expire", "wrong", { claims: { exp: undefined } }],
  ["of another key", "wrong", { key: other.privateKey }],
  ["of a key that Google does not have", "wrong", { header: { kid: "key-2" } }],
])("a token %s", async (_, reason, token) => {
  expect(await verify(`Bearer ${await sign(token)}`)).toMatchObject({ reason });
});

test.each([
  ["no token", "Bearer x", "malformed"],
  ["not signed", `Bearer ${btoa('{"alg":"none"}').replace(/=+$/, "")}.e30.`, "malformed"],
  ["no JSON", "Bearer aaaa.bbbb.cccc", "wrong"],
  ["another scheme", "Basic YTpi", "malformed"],
])("%s", async (_, authorization, reason) => {
  expect(await verify(authorization)).toMatchObject({ reason });
});

test("two tokens", async () => {
  const token = `Bearer ${await sign()}`;
  const headers: [string, string][] = [
    ["Authorization", token],
    ["authorization", token],
  ];
  expect(await verifier.verify(toRequest({ headers }))).toMatchObject({ reason: "malformed" });
});

test("the keys cannot be fetched", async () => {
  isDown = true;
  const fresh = await createVerifier("google-oidc", {
    audience: AUDIENCE,
    serviceAccount: ACCOUNT,
    keysUrl: server.url,
  });
  const request = toRequest({ headers: { authorization: `Bearer ${await sign()}` } });
  expect(await fresh.verify(request)).toMatchObject({ reason: "unavailable" });
  isDown = false;
});
