import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  createSender,
  createVerifier,
  type RequestParts,
  SECRET,
  signed,
  toRequest,
} from "../../../test/support/signatures.ts";
import type { Handshake, SignatureResult } from "../../core/ports/signature.ts";

const TEXT = { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" };
const HEX = createHmac("sha256", SECRET).update("qgg8vlvZRS6UYooatFL8Aw").digest("hex");

interface Signed {
  body?: object | string;
  headers?: Record<string, string>;
}

/** Answered only with a right signature. */
const signedHandshakes: [scheme: string, request: Signed, answer: Handshake][] = [
  ["github", { headers: { "x-github-event": "ping" }, body: { zen: "…" } }, { status: 200, body: {} }],
  [
    "slack",
    { body: { type: "url_verification", token: "t", challenge: "3eZbrw1aB" } },
    { status: 200, headers: TEXT, body: "3eZbrw1aB" },
  ],
  ["slack", { body: "ssl_check=1&token=t" }, { status: 200 }],
  ["mcp-events", { body: { type: "verification", challenge: "abc" } }, { status: 200, body: { challenge: "abc" } }],
  ["discord", { body: { type: 1, application_id: "1" } }, { status: 200, body: { type: 1 } }],
  ["discord", { body: { version: 1, application_id: "1", type: 0 } }, { status: 204 }],
  ["google-channel", { headers: { "x-goog-resource-state": "sync" }, body: "" }, { status: 200, body: {} }],
  [
    "zoom",
    { body: { event: "endpoint.url_validation", payload: { plainToken: "qgg8vlvZRS6UYooatFL8Aw" } } },
    { status: 200, body: { plainToken: "qgg8vlvZRS6UYooatFL8Aw", encryptedToken: HEX } },
  ],
  ["intercom", { body: { topic: "ping" } }, { status: 200, body: {} }],
  [
    "twitch",
    {
      headers: { "twitch-eventsub-message-type": "webhook_callback_verification" },
      body: { challenge: "pogchamp-kappa-360noscope-vohiyo" },
    },
    { status: 200, headers: TEXT, body: "pogchamp-kappa-360noscope-vohiyo" },
  ],
  ["line", { body: { destination: "U1", events: [] } }, { status: 200, body: {} }],
];

describe("signed handshakes", () => {
  test.each(signedHandshakes)("%s %j", async (scheme, { body = "", headers = {} }, answer) => {
    const sender = await createSender(scheme);
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const parts = await signed(sender, { body: text, contentType: "application/json" });
    const request = toRequest({ ...parts, headers: [...parts.headers, ...Object.entries(headers)] });
    expect(sender.verifier.presents(request)).toBe(true);
    const result = await sender.verifier.verify(request);
    expect(await sender.verifier.handshake?.(request, result)).toEqual(answer);
    const wrong: SignatureResult = { reason: "wrong", message: "The signature is wrong." };
    expect(await sender.verifier.handshake?.(request, wrong)).toBeUndefined();
  });

  test.each<[scheme: string, request: Signed]>([
    ["github", { headers: { "x-github-event": "push" }, body: {} }],
    ["slack", { body: { type: "event_callback" } }],
    ["mcp-events", { body: { type: "verification" } }],
    ["discord", { body: { type: 2 } }],
    ["discord", { body: { version: 1, type: 1, event: { type: "APPLICATION_AUTHORIZED" } } }],
    ["zoom", { body: { event: "endpoint.url_validation", payload: { plainToken: "v0:1:{}" } } }],
    ["zoom", { body: { event: "meeting.started", payload: { plainToken: "a" } } }],
    ["intercom", { body: { topic: "conversation.user.created" } }],
    ["twitch", { body: { challenge: "c" } }],
    ["line", { body: { events: [{}] } }],
    ["line", { body: "[".repeat(100_000) }],
  ])("no handshake, so an event: %s %j", async (scheme, { body = "", headers = {} }) => {
    const sender = await createSender(scheme);
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const parts = await signed(sender, { body: text, contentType: "application/json" });
    const request = toRequest({ ...parts, headers: [...parts.headers, ...Object.entries(headers)] });
    expect(await sender.verifier.handshake?.(request, "valid")).toBeUndefined();
  });

  test("zoom: the secret that signed the request answers", async () => {
    const { verifier } = await createSender("zoom", { secret: ["new", SECRET] });
    const [, { body }] = signedHandshakes.find(([scheme]) => scheme === "zoom")!;
    const parts = await signed(await createSender("zoom"), { body: JSON.stringify(body), contentType: "" });
    expect(await verifier.handshake?.(toRequest(parts), "valid")).toMatchObject({ body: { encryptedToken: HEX } });
  });
});

const CHALLENGE = { "hub.mode": "subscribe", "hub.verify_token": "token-of-meta", "hub.challenge": "1158201444" };
const NOTION = { verification_token: "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl" };
const LENGTH = { "content-length": "80" };

const unsignedHandshakes: [scheme: string, request: RequestParts, answer: Handshake][] = [
  ["meta", { method: "GET", query: CHALLENGE }, { status: 200, headers: TEXT, body: "1158201444" }],
  ["dropbox", { method: "GET", query: { challenge: "a<b>" } }, { status: 200, headers: TEXT, body: "a<b>" }],
  [
    "graph",
    { query: { validationToken: "Validation: Ä 1+1" } },
    { status: 200, headers: TEXT, body: "Validation: Ä 1+1" },
  ],
  ["intercom", { method: "HEAD" }, { status: 200 }],
  ["trello", { method: "HEAD" }, { status: 200 }],
  ["woocommerce", { headers: LENGTH, body: "webhook_id=17" }, { status: 200, body: {} }],
  [
    "notion",
    { headers: LENGTH, body: JSON.stringify(NOTION) },
    { status: 200, body: {}, note: expect.stringContaining(NOTION.verification_token) },
  ],
  [
    "asana",
    { headers: { "X-Hook-Secret": "b537207f20cbfa02357cf448134da559" } },
    {
      status: 200,
      headers: { "X-Hook-Secret": "b537207f20cbfa02357cf448134da559" },
      note: expect.stringContaining("b537207f20cbfa02357cf448134da559"),
    },
  ],
];

describe("handshakes that the sender does not sign", () => {
  test.each(unsignedHandshakes)("%s %j", async (scheme, parts, answer) => {
    const { verifier } = await createSender(scheme);
    const request = toRequest(parts);
    expect(verifier.presents(request)).toBe(true);
    const { method } = request;
    expect(method === "POST" || verifier.handshakeMethods?.includes(method as "GET")).toBe(true);
    const result = await verifier.verify(request);
    expect(result).not.toBe("valid");
    expect(await verifier.handshake?.(request, result)).toEqual(answer);
  });

  test.each<[scheme: string, request: RequestParts]>([
    ["meta", { method: "GET", query: { ...CHALLENGE, "hub.verify_token": "guess" } }],
    ["meta", { method: "GET", query: { ...CHALLENGE, "hub.mode": "unsubscribe" } }],
    ["meta", { query: CHALLENGE }],
    ["dropbox", { method: "GET", query: { challenge: "x".repeat(5000) } }],
    ["dropbox", { query: { challenge: "x" } }],
    ["graph", { body: "{}" }],
    ["intercom", { method: "GET" }],
    ["trello", { body: "{}" }],
    ["woocommerce", { headers: LENGTH, body: "webhook_id=17&x=1" }],
    ["notion", { headers: LENGTH, body: JSON.stringify({ ...NOTION, id: 1 }) }],
    ["notion", { headers: LENGTH, body: JSON.stringify({ verification_token: "secret\nINFO forged" }) }],
    ["asana", { headers: { "X-Hook-Secret": "a b c d e f g h" } }],
  ])("nothing is answered: %s %j", async (scheme, parts) => {
    const { verifier } = await createSender(scheme);
    const request = toRequest(parts);
    expect(await verifier.handshake?.(request, await verifier.verify(request))).toBeUndefined();
  });

  test.each(["notion", "woocommerce"])(
    "%s: the body of an unsigned request is not read if it is long",
    async (scheme) => {
      const { verifier } = await createSender(scheme);
      expect(verifier.presents(toRequest({ headers: { "content-length": "4097" } }))).toBe(false);
      expect(verifier.presents(toRequest({ headers: { "transfer-encoding": "chunked" } }))).toBe(false);
    },
  );
});

describe("a handshake of the configuration", () => {
  const open = (handshake: object) => createVerifier("header", { name: "X-Secret", secret: SECRET, handshake });
  const echoing = { when: { type: "verify", challenge: "*" }, answer: { challenge: "{{payload.challenge}}" } };

  async function ask(handshake: object, payload: object | string) {
    const body = typeof payload === "string" ? payload : JSON.stringify(payload);
    const request = toRequest({ headers: { "content-length": String(body.length) }, body });
    const verifier = await open(handshake);
    expect(verifier.presents(request)).toBe(true);
    return verifier.handshake?.(request, await verifier.verify(request));
  }

  test("echoes a field", async () => {
    const answer = await ask(echoing, { type: "verify", challenge: '{"a' });
    expect(answer).toEqual({ status: 200, body: { challenge: '{"a' } });
  });

  test("echoes a field that is named without payload, as in a template, and a long number as it came", async () => {
    const bare = { when: { n: "*" }, answer: { challenge: "{{ n }}/{{payload.n}}" } };
    expect(await ask(bare, '{"n":12345678901234567890}')).toMatchObject({
      body: { challenge: "12345678901234567890/12345678901234567890" },
    });
  });

  test("answers with a fixed text", async () => {
    const answer = await ask({ when: { ping: true }, answer: "pong" }, { ping: true });
    expect(answer).toMatchObject({ status: 200, headers: TEXT, body: "pong" });
  });

  test.each([{ type: "verify" }, { type: "event", challenge: "a" }, { type: "verify", challenge: { a: 1 } }])(
    "is not %j",
    async (payload) => {
      expect(await ask(echoing, payload)).toBeUndefined();
    },
  );
});
