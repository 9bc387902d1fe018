/** Google's library and Hookline accept the same tokens of Google Chat. */
import { createRequire } from "node:module";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SignatureVerifier } from "../../src/core/ports/signature.ts";
import { startJsonServer } from "../support/json-server.ts";
import { createVerifier, toRequest } from "../support/signatures.ts";

const { OAuth2Client } = createRequire(import.meta.url)("google-auth-library");

const AUDIENCE = "https://hooks.example.com/hooks/googlechat";
const ACCOUNT = "chat@system.gserviceaccount.com";
const ISSUERS = ["https://accounts.google.com", "accounts.google.com"];

const ours = await generateKeyPair("RS256", { extractable: true });
const other = await generateKeyPair("RS256");
const certificates = { "key-1": await exportSPKI(ours.publicKey) };

let keys: Awaited<ReturnType<typeof startJsonServer>>;
let verifier: SignatureVerifier;
beforeAll(async () => {
  const jwk = { ...(await exportJWK(ours.publicKey)), kid: "key-1", alg: "RS256", use: "sig" };
  keys = await startJsonServer(() => ({ status: 200, body: { keys: [jwk] } }));
  verifier = await createVerifier("google-chat", { audience: AUDIENCE, keysUrl: keys.url });
});
afterAll(() => keys.close());

interface Token {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  key?: Parameters<SignJWT["sign"]>[0];
}

function sign({ claims, header, key = ours.privateKey }: Token): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const usual = { iss: ISSUERS[0], aud: AUDIENCE, email: ACCOUNT, email_verified: true, iat: now, exp: now + 3600 };
  return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg: "RS256", kid: "key-1", ...header }).sign(key);
}

/** Checks a token as Google's page about these requests does. */
async function googleAccepts(token: string): Promise<boolean> {
  try {
    const ticket = await new OAuth2Client().verifySignedJwtWithCertsAsync(token, certificates, AUDIENCE, ISSUERS);
    const { email, email_verified: isVerified } = ticket.getPayload();
    return isVerified === true && email === ACCOUNT;
  } catch {
    return false;
  }
}

test.each<[string, boolean, Token]>([
  ["for this app", true, {}],
  ["of the other issuer", true, { claims: { iss: ISSUERS[1] } }],
  ["of a third issuer", false, { claims: { iss: ACCOUNT } }],
  ["for another audience", false, { claims: { aud: "https://hooks.example.com/" } }],
  ["for another account", false, { claims: { email: "push@project.iam.gserviceaccount.com" } }],
  ["for an account that is not verified", false, { claims: { email_verified: false } }],
  ["of two hours ago", false, { claims: { iat: Date.now() / 1000 - 10_800, exp: Date.now() / 1000 - 7200 } }],
  ["without an expiry", false, { claims: { exp: undefined } }],
  ["of another key", false, { key: other.privateKey }],
  ["of an unknown key", false, { header: { kid: "key-2" } }],
])("a token %s", async (_, isRight, token) => {
  const signed = await sign(token);
  const request = toRequest({ headers: { authorization: `Bearer ${signed}` }, body: "{}", receivedAt: Date.now() });
  expect(await googleAccepts(signed)).toBe(isRight);
  expect((await verifier.verify(request)) === "valid").toBe(isRight);
});
