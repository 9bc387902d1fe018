import { createHash, createHmac } from "node:crypto";
import { SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import { createVerifier, NOW, SECRET, toRequest } from "../../../test/support/signatures.ts";
import { builtInDrivers } from "../../service/drivers.ts";
import type { SignatureVerifier } from "../../core/ports/signature.ts";

const { providers } = builtInDrivers;

const BODY = JSON.stringify({ id: 1, at: Math.floor(NOW / 1000), text: "hi" });
const TIME = String(Math.floor(NOW / 1000));
const TEN_MINUTES = 600_000;

const hmacOf = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest("hex");

/** Signature headers from the documentation of these senders. */
const LISTS: [sender: string, header: string, names: { timestamp: string; signature: string }][] = [
  ["Buildkite", "X-Buildkite-Signature", { timestamp: "timestamp", signature: "signature" }],
  ["ElevenLabs", "ElevenLabs-Signature", { timestamp: "t", signature: "v0" }],
  ["Mux", "Mux-Signature", { timestamp: "t", signature: "v1" }],
];

describe("hmac: a list of names and values in one header", () => {
  test.each(LISTS)("%s", async (_, header, { timestamp, signature }) => {
    const verifier = await createVerifier("hmac", {
      secret: SECRET,
      header,
      list: { separator: ",", timestamp, signature },
      signed: ["timestamp", ".", "body"],
    });
    const mac = hmacOf(SECRET, `${TIME}.${BODY}`);
    const verify = (value: string, parts: object = {}) =>
      verifier.verify({ ...toRequest({ headers: { [header]: value }, body: BODY }), ...parts });
    const right = `${timestamp}=${TIME},${signature}=${mac}`;
    expect(await verify(right)).toBe("valid");
    // While its secret is rotated, a sender signs with both.
    expect(await verify(`${timestamp}=${TIME},${signature}=${"0".repeat(64)},${signature}=${mac}`)).toBe("valid");
    expect(await verify(right, { receivedAt: NOW + TEN_MINUTES })).toMatchObject({ reason: "expired" });
    expect(await verify(right, { receivedAt: NOW - TEN_MINUTES })).toMatchObject({ reason: "expired" });
    expect(await verify(right, { body: Buffer.from("{}") })).toMatchObject({ reason: "wrong" });
    expect(await verify(`${timestamp}=${Number(TIME) + 1},${signature}=${mac}`)).toMatchObject({ reason: "wrong" });
    expect(await verify(`${timestamp}=${TIME},${right}`)).toMatchObject({ reason: "malformed" });
    expect(await verify(`${signature}=${mac}`)).toMatchObject({ reason: "malformed" });
  });
});

describe("hmac: where its parts are", () => {
  test("a time in the body", async () => {
    const verifier = await createVerifier("hmac", { secret: SECRET, header: "X-Signature", timestampField: "at" });
    const request = toRequest({ headers: { "x-signature": hmacOf(SECRET, BODY) }, body: BODY });
    expect(await verifier.verify(request)).toBe("valid");
    expect(await verifier.verify({ ...request, receivedAt: NOW + TEN_MINUTES })).toMatchObject({ reason: "expired" });
    const untimed = toRequest({ headers: { "x-signature": hmacOf(SECRET, "{}") }, body: "{}" });
    expect(await verifier.verify(untimed)).toMatchObject({ reason: "malformed" });
  });

  test.each(["s", "ms", "iso"])(
    "a request is signed with its time in the body, in the unit %s",
    async (timestampUnit) => {
      const options = { secret: SECRET, header: "X-Signature", timestampField: "at", timestampUnit };
      const verifier = await createVerifier("hmac", options);
      const { headers, body } = await verifier.sign!({ method: "POST", url: "", body: Buffer.from(BODY), now: NOW });
      expect(await verifier.verify(toRequest({ headers, body: String(body) }))).toBe("valid");
    },
  );

  test.each(["2026-11-22T12:00:00Z", "2026-11-22T13:30:00.123456+01:30"])("the time %s in the body", async (at) => {
    const options = { secret: SECRET, header: "X-Signature", timestampField: "at", timestampUnit: "iso" };
    const verifier = await createVerifier("hmac", options);
    const body = JSON.stringify({ at });
    const request = toRequest({ headers: { "x-signature": hmacOf(SECRET, body) }, body });
    expect(await verifier.verify({ ...request, receivedAt: Date.parse("2026-11-22T12:00:00Z") })).toBe("valid");
  });

  test.each(["base64", "hex"] as const)("a secret in %s", async (secretEncoding) => {
    const key = Buffer.from("the bytes of the key");
    const secret = key.toString(secretEncoding);
    const verifier = await createVerifier("hmac", { secret, secretEncoding, header: "X-Signature" });
    expect(await verifier.verify(toRequest({ headers: { "x-signature": hmacOf(key, BODY) }, body: BODY }))).toBe(
      "valid",
    );
    const asText = toRequest({ headers: { "x-signature": hmacOf(secret, BODY) }, body: BODY });
    expect(await verifier.verify(asText)).toMatchObject({ reason: "wrong" });
  });

  test.each([
    [
      { signed: ["timestamp", ".", "body"] },
      "timestampHeader",
      'This setting is required, because signed contains "timestamp".',
    ],
    [
      { idHeader: "x-id" },
      "idHeader",
      'This setting has no effect, because signed does not contain "id". Add it there, or remove the setting.',
    ],
    [{ secret: "not base64!", secretEncoding: "base64" }, "secret", expect.stringContaining("must be base64")],
    [
      { list: { separator: ",", signature: "v1", timestamp: "t" } },
      "list.timestamp",
      expect.stringContaining("has no effect"),
    ],
    [
      { timestampField: "at", timestampHeader: "X-Time", signed: ["timestamp", "body"] },
      "timestampField",
      expect.stringContaining("Only one time"),
    ],
  ])("a problem: %j", (options, key, message) => {
    const defaults = {
      secret: SECRET,
      header: "X-Signature",
      algorithm: "sha256",
      secretEncoding: "utf8",
      signed: ["body"],
    };
    expect(providers["hmac"]?.check?.({ ...defaults, ...options }, { baseDir: "." })).toEqual([{ key, message }]);
  });
});

describe("field", () => {
  const FORM = { "content-type": "application/x-www-form-urlencoded" };

  test("Mattermost shows its token in a form, or in JSON", async () => {
    const verifier = await createVerifier("field", { secret: ["old", SECRET], field: "token" });
    const verify = (body: string, headers = {}) => verifier.verify(toRequest({ headers, body }));
    expect(await verify(`token=${SECRET}&text=hi`, FORM)).toBe("valid");
    expect(await verify(JSON.stringify({ token: SECRET }))).toBe("valid");
    expect(await verify("token=x&text=hi", FORM)).toMatchObject({ reason: "wrong" });
    expect(await verify(`token=x&token=${SECRET}`, FORM)).toMatchObject({ reason: "wrong" });
    expect(await verify("text=hi", FORM)).toMatchObject({ reason: "missing" });
    expect(await verify(JSON.stringify({ token: [SECRET] }))).toMatchObject({ reason: "missing" });
    expect(verifier.hideSecrets?.({ token: SECRET, text: "hi" })).toEqual({ token: "[redacted]", text: "hi" });
  });

  test("Lark shows it deeper in the body, and checks the address first", async () => {
    const verifier = await createVerifier("field", {
      secret: SECRET,
      field: "header.token",
      handshake: {
        when: { type: "url_verification", challenge: "*" },
        answer: { challenge: "{{payload.challenge}}" },
      },
    });
    const event = toRequest({ body: JSON.stringify({ schema: "2.0", header: { token: SECRET } }) });
    expect(await verifier.verify(event)).toBe("valid");
    expect(await ask(verifier, { type: "url_verification", token: "t", challenge: "ajls384k" })).toEqual({
      status: 200,
      body: { challenge: "ajls384k" },
    });
    expect(await ask(verifier, { type: "event_callback", challenge: "ajls384k" })).toBeUndefined();
  });
});

/** Posts it unsigned, as senders do when the address is entered. */
async function ask(verifier: SignatureVerifier, payload: object) {
  const body = JSON.stringify(payload);
  const request = toRequest({ headers: { "content-length": String(body.length) }, body });
  expect(verifier.presents(request)).toBe(true);
  const result = await verifier.verify(request);
  expect(result).not.toBe("valid");
  return verifier.handshake?.(request, result);
}

const ECHO = { when: { challenge: "*" }, answer: { challenge: "{{payload.challenge}}" } };

describe("an echoed or fixed answer", () => {
  test.each<[scheme: string, options: object]>([
    ["hmac", { secret: SECRET, header: "X-Signature" }],
    ["header", { secret: SECRET, name: "X-Token" }],
    ["jwt", { secret: SECRET, algorithms: ["HS256"] }],
  ])("%s", async (scheme, options) => {
    const verifier = await createVerifier(scheme, { ...options, handshake: ECHO });
    expect(await ask(verifier, { challenge: "3eZbrz1aB" })).toEqual({ status: 200, body: { challenge: "3eZbrz1aB" } });
    expect(await ask(verifier, { challenge: { no: "text" } })).toBeUndefined();
    expect(await ask(verifier, { event: "created" })).toBeUndefined();
    const plain = await createVerifier(scheme, options);
    expect(plain.handshake).toBeUndefined();
  });

  test("a fixed text", async () => {
    const handshake = { when: { event: "ping", "data.test": true }, answer: "Hello API Event Received" };
    const verifier = await createVerifier("header", { secret: SECRET, name: "X-Token", handshake });
    expect(await ask(verifier, { event: "ping", data: { test: true } })).toMatchObject({
      status: 200,
      headers: { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" },
      body: "Hello API Event Received",
    });
    expect(await ask(verifier, { event: "ping", data: { test: "true" } })).toBeUndefined();
  });

  test("the body of a long request without a signature, or without the header of a check, is not read", async () => {
    const verifier = await createVerifier("hmac", { secret: SECRET, header: "X-Signature", handshake: ECHO });
    const presents = (headers: Record<string, string>) => verifier.presents(toRequest({ headers }));
    expect(presents({ "content-length": "4096" })).toBe(true);
    expect(presents({ "content-length": "4097" })).toBe(false);
    const handshake = { when: { "headers.aeg-event-type": "SubscriptionValidation" }, answer: "x" };
    const other = await createVerifier("hmac", { secret: SECRET, header: "X-Signature", handshake });
    expect(other.presents(toRequest({ headers: { "content-length": "10" } }))).toBe(false);
  });

  test("a field of the body, with payload. or without it, also named as the query", async () => {
    const when = { "payload.type": "check", "payload.query": "q", big: 1e21 };
    const handshake = { when, answer: "{{type}} {{payload.query}}" };
    const verifier = await createVerifier("header", { secret: SECRET, name: "X-Token", handshake });
    expect(await ask(verifier, { type: "check", query: "q", big: 1e21 })).toMatchObject({ body: "check q" });
  });

  test.each([
    ["handshake.when", { answer: "x" }, /A POST needs when/],
    ["handshake.when", { when: { "a..b": 1 }, answer: "x" }, /"a\.\.b" is not the path of a field/],
    ["handshake.when", { method: "GET", when: { challenge: "*" }, answer: "x" }, /A GET has no body/],
    ["handshake.answer", { method: "GET", answer: "{{challenge}}" }, /A GET has no body/],
    ["handshake.answer", { method: "OPTIONS" }, /Set answer, headers or both/],
    ["handshake[1].answer", [ECHO, { method: "GET" }], /Set answer/],
  ])("a problem of %s: %j", (key, handshake, message) => {
    for (const [scheme, options] of [
      ["hmac", { header: "X-Signature", signed: ["body"], secretEncoding: "utf8", algorithm: "sha256" }],
      ["header", { name: "X-Token" }],
      ["field", { field: "token" }],
      ["token", {}],
      ["basic", { secret: "a:b" }],
      ["jwt", { algorithms: ["HS256"] }],
    ] as const) {
      const given = { secret: SECRET, ...options, handshake };
      const found = providers[scheme]?.check?.(given, { baseDir: "." });
      expect([scheme, found]).toEqual([scheme, [{ key, message: expect.stringMatching(message) }]]);
    }
  });
});

describe("jwt with a secret that the sender and the hook share", () => {
  const seconds = Math.floor(NOW / 1000);
  const sign = (claims: Record<string, unknown>, secret = SECRET) =>
    new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(Buffer.from(secret));
  const hash = (encoding: "hex" | "base64") => createHash("sha256").update(BODY).digest(encoding);

  test("LiveKit: the key's id and the hash of the body, without Bearer", async () => {
    const verifier = await createVerifier("jwt", {
      secret: SECRET,
      algorithms: ["HS256"],
      issuer: "APIkey1",
      bodyHash: { claim: "sha256", encoding: "base64" },
    });
    const verify = async (claims: Record<string, unknown>, body = BODY) => {
      const token = await sign({ iss: "APIkey1", exp: seconds + 300, sha256: hash("base64"), ...claims });
      return verifier.verify(toRequest({ headers: { authorization: token }, body }));
    };
    expect(await verify({})).toBe("valid");
    expect(await verify({}, "{}")).toMatchObject({ reason: "wrong" });
    expect(await verify({ sha256: undefined })).toMatchObject({ reason: "wrong" });
    expect(await verify({ sha256: hash("hex") })).toMatchObject({ reason: "wrong" });
    expect(await verify({ iss: undefined })).toMatchObject({ reason: "wrong" });
    expect(await verify({ exp: undefined })).toMatchObject({ reason: "wrong" });
    expect(await verify({ exp: seconds - 120 })).toMatchObject({ reason: "expired" });
  });

  test("Monday: the address as the audience and no issuer", async () => {
    const audience = "https://hooks.example.com/hooks/monday";
    const verifier = await createVerifier("jwt", { secret: SECRET, algorithms: ["HS256"], audience });
    const verify = async (claims: Record<string, unknown>, secret = SECRET) => {
      const token = await sign({ aud: audience, exp: seconds + 300, iat: seconds, accountId: 1, ...claims }, secret);
      return verifier.verify(toRequest({ headers: { authorization: token }, body: BODY }));
    };
    expect(await verify({})).toBe("valid");
    expect(await verify({}, "another secret")).toMatchObject({ reason: "wrong" });
    expect(await verify({ aud: undefined })).toMatchObject({ reason: "wrong" });
    expect(await verify({ aud: "https://other.example.com" })).toMatchObject({ reason: "wrong" });
  });
});
