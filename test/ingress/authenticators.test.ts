import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { createAuthenticators } from "../../src/core/ingress/authenticators.ts";
import type { Sender } from "../../src/core/ingress/signature-authenticator.ts";
import type { SignatureVerifier } from "../../src/core/ports/signature.ts";
import { BEARER, expectRefusal, startIngress, TOKEN, TRANSPORTS } from "../support/ingress.ts";

/** A sender whose signature is its secret and the first byte of the body. It checks the address with GET and POST. */
function toSender(hook: string, secret: string, more: Partial<SignatureVerifier> = {}): Sender {
  const verifier: SignatureVerifier = {
    handshakeMethods: ["GET"],
    presents: ({ headers, query }) => headers["x-signature"] !== undefined || query["challenge"] !== undefined,
    verify: ({ headers, body }) =>
      headers["x-signature"] === `${secret}${body[0]}`
        ? "valid"
        : { reason: "wrong", message: "The signature is wrong." },
    handshake({ query, body }, result) {
      const challenge = query["challenge"] ?? /^ping (.*)/.exec(String(body))?.[1];
      const isRight = result === "valid" || query["token"] === secret;
      return challenge !== undefined && isRight ? { status: 200, body: challenge, note: "hello" } : undefined;
    },
    ...more,
  };
  return { hook, credential: `auth:${secret}`, verifier, secrets: [secret] };
}

const senders = [
  toSender("signed", "one"),
  toSender("signed", "two", { accept: 200, allowsEmptyBody: true }),
  toSender("both", "three", { handshakeMethods: undefined }),
];
const tokens = [{ name: "default", secrets: [TOKEN] }];
const authenticators = createAuthenticators({ tokens, senders, takesTokens: (hook) => hook !== "signed" });
const sign = (secret: string, first = "{"): Record<string, string> => ({ "x-signature": secret + first.charCodeAt(0) });

describe.each(TRANSPORTS)("through the %s, an authenticator", (transport) => {
  test("names the sender that signed the body as it came", async () => {
    const { send, received } = await startIngress(transport, { authenticators });
    const body = gzipSync('{"a":1}');
    const headers = { "x-signature": `two${body[0]}`, "content-encoding": "gzip" };
    expect((await send("/hooks/signed", { headers, body })).status).toBe(200);
    expect((await send("/hooks/signed", { headers: sign("one"), body: "{}" })).status).toBe(200);
    expect(received).toMatchObject([{ credential: "auth:two", payload: { a: 1 } }, { credential: "auth:one" }]);
  });

  test("hides a secret that the sender shows in a header", async () => {
    const { send, received } = await startIngress(transport, { authenticators });
    await send("/hooks/signed", { headers: { ...sign("one"), "x-secret": "one", "x-other": "o" }, body: "{}" });
    expect(received[0]?.headers).toMatchObject({ "x-other": "o", "x-signature": "one123" });
    expect(received[0]?.headers).not.toHaveProperty("x-secret");
  });

  test("lets tokens in only beside a mapping that takes them", async () => {
    const { send, received } = await startIngress(transport, { authenticators });
    expect((await send("/hooks/both", { headers: BEARER, body: "{}" })).status).toBe(200);
    expect((await send("/hooks/both", { headers: sign("three"), body: "{}" })).status).toBe(200);
    await expectRefusal(await send("/hooks/signed", { headers: BEARER, body: "{}" }), 401, "unauthorized");
    await expectRefusal(await send("/hooks/other", { headers: sign("one"), body: "{}" }), 401, "unauthorized");
    expect(received.map(({ credential }) => credential)).toEqual(["token:default", "auth:three"]);
  });

  test("reads many large bodies at once, and each as it came", async () => {
    const { send, received } = await startIngress(transport, { authenticators, hooks: { maxBodyBytes: 1_000_000 } });
    const body = JSON.stringify(Array.from({ length: 40_000 }, (_, index) => index));
    const secrets = Array.from({ length: 24 }, (_, index) => (index % 2 === 0 ? "one" : "four"));
    const answers = await Promise.all(
      secrets.map((secret) => send("/hooks/signed", { headers: sign(secret, "["), body })),
    );
    expect(answers.map(({ status }) => status)).toEqual(secrets.map((secret) => (secret === "one" ? 200 : 401)));
    expect(new Set(received.map(({ rawBody }) => String(rawBody)))).toEqual(new Set([body]));
  });

  test("answers a request alike whose sender could have shown its credential in the body", async () => {
    const missing: Partial<SignatureVerifier> = {
      presents: () => true,
      verify: () => ({ reason: "missing", message: "The field is missing." }),
    };
    const inBody = createAuthenticators({ tokens, senders: [toSender("signed", "one", missing)] });
    const { send } = await startIngress(transport, { authenticators: inBody });
    const ask = async (hook: string): Promise<string> =>
      Object(await (await send(`/hooks/${hook}`, { headers: {}, body: "{}" })).json()).error;
    expect(await ask("signed")).toBe(await ask("other"));
  });

  test("hides the secret of a body that is refused", async () => {
    const hideSecrets = (): object => ({ secret: "hidden" });
    const hiding = createAuthenticators({ tokens, senders: [toSender("signed", "one", { hideSecrets })] });
    const { send, refused } = await startIngress(transport, { authenticators: hiding });
    await expectRefusal(
      await send("/hooks/signed", { headers: sign("one"), body: '{"secret":"one"' }),
      400,
      "invalid_json",
    );
    expect(String(refused[0]?.request.rawBody)).toBe("");
  });

  test("answers a request without a credential alike on every path, and does not read its body", async () => {
    const { send } = await startIngress(transport, { authenticators });
    // `fetch` sends the head with the first piece. There is no second one.
    const body = (): ReadableStream => new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from("{")) });
    const answers = ["signed", "both", "other"].map(async (hook) => {
      const answer = await send(`/hooks/${hook}`, { headers: {}, body: body(), duplex: "half" });
      return [answer.status, Object(await answer.json()).error];
    });
    const refusal = [401, expect.stringContaining("is missing")];
    expect(await Promise.all(answers)).toEqual([refusal, refusal, refusal]);
  });

  test("counts a wrong signature as a failed credential, and a right one resets the count", async () => {
    const { send, received, refused } = await startIngress(transport, { authenticators });
    const wrong = { headers: sign("four"), body: "{}" };
    for (let count = 0; count < 20; count++) {
      await expectRefusal(await send("/hooks/signed", wrong), 401, "unauthorized");
    }
    await expectRefusal(await send("/hooks/signed", wrong), 429, "too_many_failures");
    expect([received, refused]).toEqual([[], []]);
    expect((await send("/hooks/signed", { headers: sign("one"), body: "{}" })).status).toBe(200);
    await expectRefusal(await send("/hooks/signed", wrong), 401, "unauthorized");
  });

  test("answers 200 to a sender that wants it, and takes its empty body", async () => {
    const receive = async () => ({ status: 202, headers: { "x-kept": "1" }, body: { ok: true } });
    const { send } = await startIngress(transport, { authenticators, receive });
    const headers = { "x-signature": "twoundefined" };
    const answer = await send("/hooks/signed", { headers });
    expect([answer.status, await answer.json(), answer.headers.get("x-kept")]).toEqual([200, {}, "1"]);
    await expectRefusal(
      await send("/hooks/signed", { headers: { "x-signature": "oneundefined" } }),
      400,
      "invalid_json",
    );
  });

  test("answers handshakes as they are, and has them recorded", async () => {
    const handshakes: unknown[] = [];
    const { send, received } = await startIngress(transport, {
      authenticators,
      onHandshake: ({ method, rawBody, credential }, note) =>
        void handshakes.push([method, String(rawBody), credential, note]),
    });
    const answers = [
      await send("/hooks/signed?challenge=a<b>&token=two", { method: "GET" }),
      await send("/hooks/signed", { headers: sign("one", "p"), body: "ping abc" }),
    ];
    expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual(["a<b>", "abc"]);
    for (const { status, headers } of answers) {
      expect([status, headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
    expect(handshakes).toEqual([
      ["GET", "", "auth:two", "hello"],
      ["POST", "", "auth:one", "hello"],
    ]);
    expect(received).toEqual([]);
  });

  test("allows other methods only for handshakes", async () => {
    const { send } = await startIngress(transport, { authenticators });
    await expectRefusal(await send("/hooks/signed?challenge=a&token=x", { method: "GET" }), 401, "unauthorized");
    for (const path of ["/hooks/signed", "/hooks/both?challenge=a&token=three", "/hooks/other?challenge=a"]) {
      const answer = await send(path, { method: "GET", headers: sign("three") });
      expect(answer.headers.get("allow")).toBe(path === "/hooks/signed" ? null : "POST");
    }
    const answer = await send("/hooks/signed", { method: "GET", headers: {} });
    expect(answer.headers.get("allow")).toBe("POST");
    await expectRefusal(answer, 405, "method_not_allowed");
  });

  test("verifies again after a reload", async () => {
    const current = { ...toSender("signed", "one").verifier };
    const swapped = createAuthenticators({ tokens, senders: [{ ...toSender("signed", "one"), verifier: current }] });
    const { send, received } = await startIngress(transport, {
      authenticators: swapped,
      // Called between the two.
      findParser() {
        current.verify = toSender("signed", "new").verifier.verify;
        return (body) => ({ payload: String(body), payloadIsBody: false });
      },
    });
    const answer = await send("/hooks/signed", { headers: sign("one"), body: "{}" });
    await expectRefusal(answer, 401, "unauthorized");
    expect(received).toEqual([]);
  });
});
