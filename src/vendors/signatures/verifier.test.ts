import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  createSender,
  createSenders,
  createVerifier,
  NOW,
  type RequestParts,
  respell,
  sampleFor,
  SECRET,
  signed,
  toRequest,
} from "../../../test/support/signatures.ts";
import { parseDuration } from "../../core/shared/time.ts";
import { decode } from "./signature.ts";
import { defineSignature } from "./verifier.ts";
import { builtInDrivers } from "../../service/drivers.ts";

const { providers } = builtInDrivers;

const senders = await createSenders();
const names = senders.map(({ scheme }) => scheme);

describe("a request of each sender", () => {
  test.each(senders)("$scheme: right once, and with the second of two secrets", async (sender) => {
    const request = toRequest(await signed(sender));
    expect(sender.verifier.presents(request)).toBe(true);
    expect(await sender.verifier.verify(request)).toBe("valid");
  });

  const rotating = names.filter((name) => !["discord", "sendgrid"].includes(name));
  test.each(rotating)("%s: the second of two secrets verifies, a third does not", async (scheme) => {
    const request = toRequest(await signed(await createSender(scheme)));
    const old = scheme === "basic" ? "user:password" : SECRET;
    const other = scheme === "basic" ? "user:other" : "whsec_b3RoZXJvdGhlcm90aGVyb3RoZXI=";
    const rotated = await createSender(scheme, { secret: [other, old] });
    expect(await rotated.verifier.verify(request)).toBe("valid");
    const wrong = await createSender(scheme, { secret: other });
    const showsSecret = providers[scheme]?.about?.signed?.startsWith("the secret itself");
    const message = showsSecret ? /^The (secret|clientState) .*is wrong\.$/ : /^The signature is wrong/;
    expect(await wrong.verifier.verify(request)).toMatchObject({
      reason: "wrong",
      message: expect.stringMatching(message),
    });
  });

  test.each(senders)("$scheme: without a credential", async ({ scheme, verifier }) => {
    const { body } = sampleFor(scheme);
    const result = await verifier.verify(toRequest({ body }));
    expect(result).toMatchObject({ reason: "missing" });
  });

  const timed = senders.filter(({ scheme }) => "tolerance" in Object(providers[scheme]?.schema["properties"]));
  test.each(timed)("$scheme: the time may be off by the tolerance, before and after, and no more", async (sender) => {
    const parts = await signed(sender);
    const tolerance = Object(providers[sender.scheme]?.schema["properties"]).tolerance.default;
    const toleranceMs = parseDuration(tolerance);
    const verifyAt = (receivedAt: number) => sender.verifier.verify(toRequest({ ...parts, receivedAt }));
    expect(await verifyAt(NOW + toleranceMs - 1000)).toBe("valid");
    expect(await verifyAt(NOW - toleranceMs + 1000)).toBe("valid");
    const offSeconds = toleranceMs / 1000 + 2;
    const refusal = { reason: "expired", skewSeconds: expect.closeTo(-offSeconds, -1) };
    expect(await verifyAt(NOW + offSeconds * 1000)).toMatchObject(refusal);
    expect(await verifyAt(NOW - offSeconds * 1000)).toMatchObject({
      ...refusal,
      skewSeconds: expect.closeTo(offSeconds, -1),
    });
  });

  // Dropbox and Asana only say that something has changed.
  test("signs a time, or has an id that shows a repeated delivery, except for these", () => {
    const open = Object.entries(providers).filter(([, { about, deliveryId }]) => !about?.tolerance && !deliveryId);
    expect(open.map(([name]) => name)).toEqual(["dropbox", "asana", "basic", "token", "header", "field"]);
  });
});

describe("a signature in another spelling is the same bytes", () => {
  test.each(senders)("$scheme", async (sender) => {
    const parts = await signed(sender);
    const [first, second] = [toRequest(parts), toRequest({ ...parts, headers: respell(parts.headers) })];
    expect(await sender.verifier.verify(second)).toBe("valid");
    expect(await sender.verifier.identify?.(second)).toEqual(await sender.verifier.identify?.(first));
  });

  const bytes = Buffer.from("fbff10fbfe", "hex");
  test.each([
    ["hex", bytes.toString("hex").toUpperCase()],
    ["base64", bytes.toString("base64").replace(/=+$/, "")],
    ["base64", bytes.toString("base64url")],
    ["base64url", bytes.toString("base64")],
  ] as const)("in %s: %s", (encoding, text) => {
    expect(decode(text, encoding)).toEqual(bytes);
  });

  test.each([
    ["hex", "0"],
    ["hex", "0g"],
    ["hex", " 00"],
    ["base64", "AA="],
    ["base64", "AAA=="],
    ["base64", "AAB="],
    ["base64", "AA A"],
    ["base64", "===="],
  ] as const)("not in %s: %j", (encoding, text) => {
    expect(decode(text, encoding)).toBeUndefined();
  });
});

describe("what is not a signature", () => {
  const body = "{}";
  test.each<[string, (header: string) => string]>([
    ["without its prefix", (header) => header.replace("sha256=", "")],
    ["cut", (header) => header.slice(0, -1)],
    ["with one digit more", (header) => `${header}0`],
    ["with white space", (header) => ` ${header}`],
    ["with something that is no digit", (header) => header.replace(/.$/, "g")],
    ["empty", () => "sha256="],
    ["very long", (header) => header + "00".repeat(5000)],
  ])("hex %s", async (_, change) => {
    const sender = await createSender("github");
    const { headers } = await signed(sender, { body, contentType: "application/json" });
    const changed = headers.map(([name, value]): [string, string] => [name, change(value)]);
    expect(await sender.verifier.verify(toRequest({ headers: changed, body }))).toMatchObject({
      reason: expect.stringMatching(/malformed|wrong/),
    });
  });

  test("base64 whose last character has other unused bits", async () => {
    const sender = await createSender("shopify");
    const { headers } = await signed(sender, { body, contentType: "application/json" });
    const name = "x-shopify-hmac-sha256";
    const right = new Map(headers).get(name) ?? "";
    const last = String.fromCodePoint((right.codePointAt(right.length - 2) ?? 0) + 1);
    const request = toRequest({ headers: { [name]: right.replace(/.=$/, `${last}=`) }, body });
    expect(await sender.verifier.verify(request)).toMatchObject({ reason: "malformed" });
  });
});

describe("a repeated header is refused, whichever is right", () => {
  test.each(senders.filter(({ scheme }) => !["mailgun", "graph"].includes(scheme)))("$scheme", async (sender) => {
    const { headers, body } = await signed(sender);
    for (const [name, value] of headers.filter(([key]) => key !== "content-type")) {
      for (const double of [value, "x"]) {
        const repeated: [string, string][] = [...headers, [name.toUpperCase(), double]];
        expect(await sender.verifier.verify(toRequest({ headers: repeated, body }))).not.toBe("valid");
        expect(await sender.verifier.verify(toRequest({ headers: repeated.toReversed(), body }))).not.toBe("valid");
      }
    }
  });
});

describe("a list of signatures", () => {
  const body = "{}";
  async function verifyStripe(change: (time: string, signature: string) => string) {
    const sender = await createSender("stripe");
    const { headers } = await signed(sender, { body, contentType: "application/json" });
    const [, time = "", signature = ""] =
      /^t=(\d+),v1=(.+)$/.exec(new Map(headers).get("stripe-signature") ?? "") ?? [];
    return sender.verifier.verify(toRequest({ headers: { "stripe-signature": change(time, signature) }, body }));
  }
  const wrong = "00".repeat(32);

  test.each<[string, (time: string, signature: string) => string]>([
    ["as Stripe sends it in test mode", (t, s) => `t=${t},v1=${s},v0=${wrong}`],
    ["in another order", (t, s) => `v1=${s},t=${t}`],
    ["with blanks, a trailing comma and an empty entry", (t, s) => `t=${t}, \t v1=${s},, `],
    ["the right one is the eighth", (t, s) => `t=${t},${`v1=${wrong},`.repeat(7)}v1=${s}`],
  ])("accepted: %s", async (_, change) => {
    expect(await verifyStripe(change)).toBe("valid");
  });

  test.each<[string, string, (time: string, signature: string) => string]>([
    ["the right one is the ninth", "wrong", (t, s) => `t=${t},${`v1=${wrong},`.repeat(8)}v1=${s}`],
    ["under another name", "wrong", (t, s) => `t=${t},v0=${s}`],
    ["beside something that is no signature", "malformed", (t, s) => `t=${t},v1=${s},v1=${s}t`],
    ["two times", "malformed", (t, s) => `t=${t},t=${t},v1=${s}`],
    ["no time", "malformed", (_, s) => `v1=${s}`],
    ["a time with a sign", "malformed", (t, s) => `t=+${t},v1=${s}`],
    ["a time with a fraction", "malformed", (t, s) => `t=${t}.0,v1=${s}`],
    ["a time with a zero in front", "malformed", (t, s) => `t=0${t},v1=${s}`],
    ["a time of many digits", "malformed", (t, s) => `t=${t}${"0".repeat(400)},v1=${s}`],
    ["a blank before the value", "malformed", (t, s) => `t=${t},v1= ${s}`],
    ["an entry without a value", "malformed", (t, s) => `t=${t},v1=${s},v1=`],
    ["nothing", "malformed", () => ""],
    ["nothing but commas", "malformed", () => ", ,"],
  ])("refused: %s", async (_, reason, change) => {
    expect(await verifyStripe(change)).toMatchObject({ reason });
  });
});

test("an id cannot take over a part of the text behind it", async () => {
  const sender = await createSender("standard-webhooks");
  const { headers } = await signed(sender, { body: "1790856000.{}", contentType: "application/json" });
  const { "webhook-id": id, "webhook-timestamp": time, ...rest } = Object.fromEntries(headers);
  const shifted = { ...rest, "webhook-id": `${id}.${time}`, "webhook-timestamp": "1790856000" };
  expect(await sender.verifier.verify(toRequest({ headers: shifted, body: "{}" }))).toMatchObject({
    reason: "malformed",
  });
});

test("a request to another address is refused where the address is signed", async () => {
  for (const scheme of ["square", "hubspot", "twilio", "trello"]) {
    const sender = await createSender(scheme);
    const parts = await signed(sender);
    expect(providers[scheme]?.signsUrl?.({})).toBe(true);
    const other = toRequest({ ...parts, url: "https://hooks.example.com/hooks/other" });
    expect(await sender.verifier.verify(other)).toMatchObject({ reason: "wrong" });
    expect(await sender.verifier.verify(toRequest({ ...parts, url: undefined }))).toMatchObject({
      reason: "malformed",
    });
  }
});

test("Standard Webhooks: a public key verifies v1a", async () => {
  const { generateKeyPairSync, sign } = await import("node:crypto");
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
  const verifier = await createVerifier("standard-webhooks", { secret: [SECRET, `whpk_${raw.toString("base64")}`] });
  const time = String(Math.floor(NOW / 1000));
  const signature = sign(null, Buffer.from(`msg_1.${time}.{}`), privateKey).toString("base64");
  const headers = { "webhook-id": "msg_1", "webhook-timestamp": time };
  const verify = (text: string) =>
    verifier.verify(toRequest({ headers: { ...headers, "webhook-signature": text }, body: "{}" }));
  expect(verify(`v1,AAAA v1a,${signature}`)).toBe("valid");
  expect(verify(`v1,${signature}`)).toMatchObject({ reason: "wrong" });
});

describe("Twilio", () => {
  test("a body that is no form needs its hash in the address", async () => {
    const { createHash } = await import("node:crypto");
    const sender = await createSender("twilio");
    const body = '{"a":1}';
    const url = `https://hooks.example.com/in?bodySHA256=${createHash("sha256").update(body).digest("hex")}`;
    const { headers } = await sender.sign({ method: "POST", url, body: Buffer.from(body), now: NOW });
    const verify = (parts: RequestParts) => sender.verifier.verify(toRequest({ url, headers, body, ...parts }));
    expect(await verify({})).toBe("valid");
    expect(await verify({ body: '{"a":2}' })).toMatchObject({ reason: "malformed" });
    const plain = await sender.sign({ method: "POST", url: "https://a.example/", body: Buffer.alloc(0), now: NOW });
    expect(await verify({ url: "https://a.example/", headers: plain.headers })).toMatchObject({ reason: "malformed" });
  });
});

test("Mailgun: a forwarded mail is a form", async () => {
  const sender = await createSender("mailgun");
  const { body } = await signed(sender);
  const form = new FormData();
  const { signature } = JSON.parse(body.toString());
  for (const [name, value] of Object.entries<string>(signature)) form.append(name, value);
  const response = new Response(form);
  const contentType = response.headers.get("content-type") ?? "";
  const bytes = Buffer.from(await response.arrayBuffer());
  const multipart = toRequest({ headers: { "content-type": contentType }, body: bytes });
  expect(await sender.verifier.verify(multipart)).toBe("valid");
  const cut = toRequest({ headers: { "content-type": contentType }, body: bytes.subarray(0, 200) });
  expect(await sender.verifier.verify(cut)).toMatchObject({ reason: "missing" });
});

test("Microsoft Graph: one notification with another clientState refuses all of them", async () => {
  const { verifier } = await createSender("graph");
  const verify = (value: unknown) => verifier.verify(toRequest({ body: JSON.stringify({ value }) }));
  expect(await verify([{ clientState: SECRET }])).toBe("valid");
  expect(await verify([{ clientState: SECRET }, { clientState: "x" }])).toMatchObject({ reason: "wrong" });
  expect(await verify([{ clientState: SECRET }, {}])).toMatchObject({ reason: "missing" });
  expect(await verify([])).toMatchObject({ reason: "missing" });
});

describe("a secret that cannot be one", () => {
  test.each([
    ["discord", "not-hex", "The secret must be the public key: 64 hex digits."],
    ["sendgrid", "AAAA", "The secret must be the public key of an elliptic curve, in base64."],
    ["standard-webhooks", "whsec_!", "The secret must be base64 after whsec_ or whpk_."],
    ["standard-webhooks", "whsec_", "The secret must be base64 after whsec_ or whpk_."],
    ["basic", "password", "The secret must be user:password."],
    ["github", " ", "The secret must not be empty."],
  ])("%s: %j", async (scheme, secret, message) => {
    const definition = providers[scheme];
    expect(definition?.check?.({ secret: ["x", secret].slice(-1) }, { baseDir: "/" })).toEqual([
      { key: "secret[0]", message },
    ]);
    await expect(createVerifier(scheme, { secret })).rejects.toThrow(message);
  });

  test("no secret at all", async () => {
    await expect(createVerifier("github", { secret: [] })).rejects.toThrow("A secret is required.");
  });
});

test("a row of a plugin", async () => {
  const acme = defineSignature({ header: "x-acme", prefix: "v2:", encoding: "base64url", algorithm: "hmac-sha512" });
  const verifier = await acme.create(
    { secret: "s" },
    {
      name: "acme",
      baseDir: "/",
      tempDir: "/tmp",
      stateDir: "/tmp",
      log: undefined as never,
      compileTemplate: undefined as never,
    },
  );
  const body = Buffer.from("hello");
  const parts = await verifier.sign?.({ method: "POST", url: "", body, now: NOW });
  expect(verifier.verify(toRequest({ headers: parts?.headers, body }))).toBe("valid");
  expect(verifier.verify(toRequest({ headers: parts?.headers, body: "hallo" }))).toMatchObject({ reason: "wrong" });
  expect(acme.schema).toMatchObject({ required: ["secret"], additionalProperties: false });
});

describe("an id before the time", () => {
  const NOW_S = String(Math.floor(NOW / 1000));

  interface Sent {
    body?: string;
    sentId?: string;
    sentBody?: string;
  }

  async function verifyAs(id: string, { body = '{"a":1}', sentId = id, sentBody = body }: Sent = {}) {
    const sender = await createSender("standard-webhooks");
    const key = Buffer.from(SECRET.slice("whsec_".length), "base64");
    const signature = createHmac("sha256", key).update(`${id}.${NOW_S}.${body}`).digest("base64");
    const headers = { "webhook-id": sentId, "webhook-timestamp": NOW_S, "webhook-signature": `v1,${signature}` };
    return sender.verifier.verify(toRequest({ headers, body: sentBody }));
  }

  const TOLERANCE_S = 300;
  const old = String(Number(NOW_S) - TOLERANCE_S - 1);
  const numbers = ["a.123", "a.b.0", "order.20261001", `evt.${old}`, `evt.${NOW}`, `${NOW_S}.a`];
  test.each(["msg_1", "123456", "evt.1.a", "a.b", ".a", "a.", "1.5.x-1", ...numbers])("can be %j", async (id) => {
    expect(await verifyAs(id)).toBe("valid");
  });

  test.each([`a.${NOW_S}.b`, `a.${NOW_S}`, `a.${Number(NOW_S) + TOLERANCE_S}`])("cannot be %j", async (id) => {
    const message =
      'The header webhook-id is refused: after "." it has a part that could be the signed time, so the same signature would be right for another id.';
    expect(await verifyAs(id)).toEqual({ reason: "malformed", message });
  });

  test("cannot be empty", async () => {
    const message = "The header webhook-id is refused: it is empty.";
    expect(await verifyAs("")).toEqual({ reason: "malformed", message });
  });

  test.each([
    [{ timestampUnit: "iso" }, "2026-10-01T12:00:00.123Z", /could be the signed time/],
    [{ signed: ["id", ".", "body"], timestampHeader: undefined }, undefined, /it has more text/],
  ])("with %j cannot have the separator", async (options, time, message) => {
    const hmac = { secret: SECRET, header: "X-Sign", idHeader: "X-Id", timestampHeader: "X-Time" };
    const signedParts = ["id", ".", "timestamp", ".", "body"];
    const verifier = await createVerifier("hmac", { ...hmac, signed: signedParts, ...options });
    const headers = { "x-sign": "00".repeat(32), "x-id": "a.b", ...(time !== undefined && { "x-time": time }) };
    expect(verifier.verify(toRequest({ headers, body: "{}" }))).toMatchObject({
      reason: "malformed",
      message: expect.stringMatching(message),
    });
  });

  test("takes nothing of the text behind it", async () => {
    const body = `x.${NOW_S}.{"evil":1}`;
    const evil = { body, sentBody: '{"evil":1}' };
    expect(await verifyAs("msg", { ...evil, sentId: `msg.${NOW_S}.x` })).toMatchObject({ reason: "malformed" });
    expect(
      await verifyAs("msg", { body: body.slice(2), sentBody: '{"evil":1}', sentId: `msg.${NOW_S}` }),
    ).toMatchObject({
      reason: "malformed",
    });
  });
});

test("standard-webhooks takes the headers of Svix, and not a mixture", async () => {
  const { verifier } = await createSender("standard-webhooks");
  const parts = await signed(await createSender("svix"));
  expect(verifier.presents(toRequest(parts))).toBe(true);
  expect(await verifier.verify(toRequest(parts))).toBe("valid");
  const rename = (from: string, to: string) => ({
    ...parts,
    headers: parts.headers.map(([name, value]): [string, string] => [name === from ? to : name, value]),
  });
  for (const name of ["id", "timestamp", "signature"]) {
    const mixed = toRequest(rename(`svix-${name}`, `webhook-${name}`));
    expect(await verifier.verify(mixed)).toMatchObject({ reason: "missing" });
  }
});

test.each([
  ["https://hooks.example.com/in?a=1", "https://hooks.example.com:443/in?a=1", true],
  ["http://hooks.example.com/in", "http://hooks.example.com:80/in", true],
  ["https://hooks.example.com:8443/in", "https://hooks.example.com/in", true],
  ["https://hooks.example.com:443/in", "https://hooks.example.com/in", true],
  ["https://hooks.example.com:8443/in", "https://hooks.example.com:8443/in", true],
  ["https://hooks.example.com/in", "https://hooks.example.com:8443/in", false],
  ["https://hooks.example.com/in", "https://hooks.example.com/in:443", false],
  ["https://hooks.example.com:8443/in", "https://hooks.example.com:443/in", false],
])("Twilio's requests to %s may be signed for %s: %s", async (url, signedUrl, isRight) => {
  const sender = await createSender("twilio");
  const { body, contentType } = sampleFor("twilio");
  const parts = await sender.sign({ method: "POST", url: signedUrl, body: Buffer.from(body), contentType, now: NOW });
  const headers = { "content-type": contentType, ...parts.headers };
  const result = await sender.verifier.verify(toRequest({ headers, body, url }));
  if (isRight) expect(result).toBe("valid");
  else expect(result).toMatchObject({ reason: "wrong" });
});
