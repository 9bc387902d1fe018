import { createHash } from "node:crypto";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startJsonServer } from "../../../test/support/json-server.ts";
import { createVerifier, NOW, SECRET, toRequest } from "../../../test/support/signatures.ts";
import { builtInDrivers } from "../../service/drivers.ts";

const { providers } = builtInDrivers;

const BODY = JSON.stringify({ id: "1", serviceUrl: "https://smba.trafficmanager.net/emea/" });
const ISSUER = "https://sender.example.com";
const AUDIENCE = "https://hooks.example.com/hooks/in";

const ours = await generateKeyPair("RS256", { extractable: true });
const other = await generateKeyPair("RS256");
let server: Awaited<ReturnType<typeof startJsonServer>>;

beforeAll(async () => {
  const jwk = { ...(await exportJWK(ours.publicKey)), alg: "RS256", use: "sig" };
  const keys = [
    { ...jwk, kid: "teams", endorsements: ["msteams", "skype"] },
    { ...jwk, kid: "webchat", endorsements: ["webchat"] },
  ];
  server = await startJsonServer(() => ({ status: 200, body: { keys } }));
});
afterAll(() => server.close());

interface Token {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  key?: Parameters<SignJWT["sign"]>[0];
}

function sign({ claims, header, key = ours.privateKey }: Token): Promise<string> {
  const now = Math.floor(NOW / 1000);
  return new SignJWT({ iat: now, exp: now + 600, ...claims })
    .setProtectedHeader({ alg: "RS256", kid: "teams", ...header })
    .sign(key);
}

const hashOf = (body: string) => createHash("sha256").update(body).digest("hex");

describe("jwt with a key set", () => {
  const claims = { iss: ISSUER, aud: AUDIENCE, tenant: 7, sha256: hashOf(BODY) };
  const open = () =>
    createVerifier("jwt", {
      jwks: server.url,
      algorithms: ["RS256"],
      issuer: ISSUER,
      audience: AUDIENCE,
      claims: { tenant: 7 },
      bodyHash: { claim: "sha256" },
    });
  const request = async (token: Token, body = BODY) =>
    toRequest({
      headers: { authorization: `Bearer ${await sign({ ...token, claims: { ...claims, ...token.claims } })}` },
      body,
    });

  test("a token for this body, which has the same identity when it is sent again", async () => {
    const verifier = await open();
    expect(await verifier.verify(await request({}))).toBe("valid");
    const identity = await verifier.identify?.(await request({}));
    expect(identity).toEqual(await verifier.identify?.(await request({})));
    expect(identity?.validMs).toBeGreaterThanOrEqual(600_000);
  });

  test.each<[string, Token]>([
    ["another issuer", { claims: { iss: "https://other.example.com" } }],
    ["another audience", { claims: { aud: "https://other.example.com" } }],
    ["another claim", { claims: { tenant: "7" } }],
    ["no expiry", { claims: { exp: undefined } }],
    ["an expiry in a year", { claims: { exp: NOW / 1000 + 31_536_000 } }],
    ["another key", { key: other.privateKey }],
    ["an unknown key id", { header: { kid: "none" } }],
  ])("%s", async (_, token) => {
    expect(await (await open()).verify(await request(token))).toMatchObject({ reason: "wrong" });
  });

  test("another body", async () => {
    expect(await (await open()).verify(await request({}, "{}"))).toMatchObject({ reason: "wrong" });
  });

  test("the public key as a shared secret", async () => {
    const key = Buffer.from(await exportSPKI(ours.publicKey));
    const confused = await request({ key, header: { alg: "HS256" } });
    expect(await (await open()).verify(confused)).toMatchObject({ reason: "wrong" });
  });
});

describe("jwt with a secret", () => {
  const options = { secret: ["old", SECRET], algorithms: ["HS256"], issuer: ISSUER, header: "X-Token" };

  test("what it signs is right, with any of several secrets", async () => {
    const signer = await createVerifier("jwt", { ...options, secret: SECRET });
    const verifier = await createVerifier("jwt", options);
    const { headers } = (await signer.sign?.({ method: "POST", url: "", body: Buffer.from(BODY), now: NOW })) ?? {};
    expect(await verifier.verify(toRequest({ headers, body: BODY }))).toBe("valid");
    const stranger = await createVerifier("jwt", { ...options, secret: "other" });
    expect(await stranger.verify(toRequest({ headers, body: BODY }))).toMatchObject({ reason: "wrong" });
  });

  test("a token without a signature", async () => {
    const unsigned = `${btoa('{"alg":"none"}')}.${btoa(JSON.stringify({ iss: ISSUER }))}.`.replaceAll("=", "");
    const verifier = await createVerifier("jwt", options);
    expect(await verifier.verify(toRequest({ headers: { "x-token": unsigned } }))).toMatchObject({
      reason: "malformed",
    });
  });
});

test.each([
  [{ algorithms: ["RS256", "HS256"], jwks: "https://a.example" }, "algorithms"],
  [{ algorithms: ["RS256", "ES256"], jwks: "https://a.example" }, "algorithms"],
  [{ algorithms: ["HS256"], jwks: "https://a.example" }, "secret"],
  [{ algorithms: ["ES256"], secret: "s" }, "secret"],
  [{ algorithms: ["ES256"], jwks: "https://a.example", issuer: undefined }, "issuer"],
  [{ algorithms: ["ES256"], jwks: "https://a.example", audience: undefined }, "audience"],
])("a family of algorithms goes with one kind of key, and public keys with a receiver: %j", (options, key) => {
  const given = { issuer: ISSUER, audience: AUDIENCE, ...options };
  expect(providers["jwt"]?.check?.(given, { baseDir: "." })).toMatchObject([{ key }]);
});

test("Google Chat: its service account as a claim, since Google signs for everybody", async () => {
  const verifier = await createVerifier("jwt", {
    jwks: server.url,
    algorithms: ["RS256"],
    issuer: "https://accounts.google.com",
    audience: AUDIENCE,
    claims: { email: "chat@system.gserviceaccount.com", email_verified: true },
  });
  const verify = async (claims: object) => {
    const google = { iss: "https://accounts.google.com", aud: AUDIENCE, email_verified: true };
    const token = await sign({ claims: { ...google, email: "chat@system.gserviceaccount.com", ...claims } });
    return verifier.verify(toRequest({ headers: { authorization: `Bearer ${token}` }, body: BODY }));
  };
  expect(await verify({})).toBe("valid");
  expect(await verify({ email: "stranger@example.com" })).toMatchObject({ reason: "wrong" });
  expect(await verify({ email: undefined })).toMatchObject({ reason: "wrong" });
  expect(await verify({ email_verified: "true" })).toMatchObject({ reason: "wrong" });
});

describe("a bot of Microsoft Teams", () => {
  const claims = {
    iss: "https://api.botframework.com",
    aud: "app-1",
    serviceurl: "https://smba.trafficmanager.net/emea/",
  };
  const verify = async (token: Token, body = BODY) => {
    const verifier = await createVerifier("msteams", { appId: "app-1", keysUrl: server.url });
    const text = await sign({ ...token, claims: { ...claims, ...token.claims } });
    return verifier.verify(toRequest({ headers: { authorization: `Bearer ${text}` }, body }));
  };

  test("a token for this app and this service address", async () => {
    expect(await verify({})).toBe("valid");
  });

  test.each<[string, Token]>([
    ["a key that is not endorsed for Teams", { header: { kid: "webchat" } }],
    ["another app", { claims: { aud: "app-2" } }],
    ["another service address", { claims: { serviceurl: "https://attacker.example/" } }],
    ["no service address", { claims: { serviceurl: undefined } }],
  ])("%s", async (_, token) => {
    expect(await verify(token)).toMatchObject({ reason: "wrong" });
  });

  test("a body with another service address", async () => {
    const body = JSON.stringify({ serviceUrl: "https://attacker.example/" });
    expect(await verify({}, body)).toMatchObject({ reason: "wrong" });
    expect(await verify({ claims: { serviceurl: undefined } }, "{}")).toMatchObject({ reason: "wrong" });
  });
});

test("a token of Netlify is for one body and does not expire", async () => {
  const verifier = await createVerifier("netlify", { secret: SECRET });
  const token = await new SignJWT({ iss: "netlify", sha256: hashOf(BODY) })
    .setProtectedHeader({ alg: "HS256" })
    .sign(Buffer.from(SECRET));
  const headers = { "x-webhook-signature": token };
  expect(await verifier.verify(toRequest({ headers, body: BODY }))).toBe("valid");
  expect(await verifier.verify(toRequest({ headers, body: "{}" }))).toMatchObject({ reason: "wrong" });
});
