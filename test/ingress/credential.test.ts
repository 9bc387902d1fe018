import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Authenticator, Verification } from "../../src/core/ingress/authenticator.ts";
import { createGate } from "../support/gate.ts";
import { BEARER, TRANSPORTS, expectRefusal, startIngress, TOKEN } from "../support/ingress.ts";

const JSON_BODY = JSON.stringify({ text: "hello" });
const JSON_TYPE = { "content-type": "application/json" };

describe.each(TRANSPORTS)("through the %s", (transport) => {
  describe("the credential", () => {
    test.each([
      ["Bearer", { authorization: `Bearer ${TOKEN}` }, ""],
      ["the header", { "x-gateway-token": TOKEN }, ""],
      ["the query", {}, `?token=${TOKEN}`],
      ["Bearer over a wrong header", { ...BEARER, "x-gateway-token": "wrong" }, "?token=wrong"],
      ["the header beside an empty Bearer", { authorization: "Bearer ", "x-gateway-token": TOKEN }, ""],
    ])("%s is accepted", async (_what, headers: Record<string, string>, search) => {
      const { send } = await startIngress(transport);
      expect((await send(`/hooks/wake${search}`, { headers, body: JSON_BODY })).status).toBe(200);
    });

    test.each([
      ["nothing", {}, ""],
      [
        "a wrong Bearer beside the right header and query",
        { authorization: "Bearer wrong", "x-gateway-token": TOKEN },
        `?token=${TOKEN}`,
      ],
      ["an empty header", { "x-gateway-token": "" }, ""],
      ["a wrong query", {}, "?token=wrong"],
      ["a longer token", { authorization: `Bearer ${TOKEN}x` }, ""],
    ])("%s is refused", async (_what, headers: Record<string, string>, search) => {
      const { send, received, refused } = await startIngress(transport);
      const response = await send(`/hooks/wake${search}`, { headers, body: JSON_BODY });
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      await expectRefusal(response, 401, "unauthorized");
      expect([received, refused]).toEqual([[], []]);
    });

    test("in the query is deprecated: answers have a header, and each accepted request is logged", async () => {
      const { send, log } = await startIngress(transport);
      const responses = [
        await send(`/hooks/wake?token=${TOKEN}`, { headers: {}, body: JSON_BODY }),
        await send(`/hooks/wake?token=${TOKEN}`, { headers: JSON_TYPE, body: "{" }),
        await send("/hooks/wake?token=wrong", { headers: {}, body: JSON_BODY }),
      ];
      expect(responses.map(({ status }) => status)).toEqual([200, 400, 401]);
      for (const { headers } of responses) {
        expect(headers.get("deprecation")).toMatch(/^@\d+$/);
        expect(headers.get("warning")).toMatch(/^299 - "/);
      }
      expect(log.map(({ level, message }) => [level, message])).toEqual(
        Array.from({ length: 2 }, () => ["warn", expect.stringContaining("deprecated")]),
      );
      expect(JSON.stringify(log)).not.toContain(TOKEN);
      expect((await send("/hooks/wake", { body: JSON_BODY })).headers.get("deprecation")).toBeNull();
    });
  });

  test("a token that is revoked while its body is uploading no longer counts", async () => {
    const { send, hooks, received, refused } = await startIngress(transport);
    const [asked, revoked] = [createGate(), createGate()];
    const body = new ReadableStream({
      async pull(stream) {
        asked.open();
        await revoked.passed;
        stream.enqueue(Buffer.from(JSON_BODY));
        stream.close();
      },
    });
    const answer = send("/hooks/wake", { body, duplex: "half", headers: { ...BEARER, ...JSON_TYPE } });
    await asked.passed;
    // Until the head was checked.
    await sleep(100);
    hooks.tokens = [{ name: "default", secrets: ["another"] }];
    revoked.open();
    await expectRefusal(await answer, 401, "unauthorized");
    expect([received, refused]).toEqual([[], []]);
  });

  test("a reload while a body is uploading counts as a whole", async () => {
    const [asked, reloaded] = [createGate(), createGate()];
    let verification: Verification = { credential: "before" };
    const authenticator: Authenticator = { methods: ["POST"], verify: () => verification };
    const authenticators = { find: () => authenticator, anyToken: authenticator, isToken: () => true };
    const { send, received } = await startIngress(transport, { authenticators });
    const body = new ReadableStream({
      async pull(stream) {
        asked.open();
        await reloaded.passed;
        stream.enqueue(Buffer.from('{"secret":"own"}'));
        stream.close();
      },
    });
    const headers = { ...JSON_TYPE, "x-shown": "own" };
    const answer = send("/hooks/wake", { body, duplex: "half", headers });
    await asked.passed;
    await sleep(100);
    const hideSecrets = (): object => ({ secret: "hidden" });
    verification = { credential: "after", secrets: ["own"], hideSecrets, signature: { digest: "digest" } };
    reloaded.open();
    expect((await answer).status).toBe(200);
    expect(received).toMatchObject([
      { credential: "after", payload: { secret: "hidden" }, signature: { digest: "digest" } },
    ]);
    expect(JSON.stringify([received[0]?.headers, String(received[0]?.rawBody)])).not.toContain("own");
  });

  describe("failed credentials are counted", () => {
    async function failTwentyTimes(send: (path: string, init: RequestInit) => Promise<Response>, headers = {}) {
      for (let count = 0; count < 20; count++) {
        expect((await send("/hooks/wake", { headers: { "x-gateway-token": "wrong", ...headers } })).status).toBe(401);
      }
    }

    test("the 21st gets 429; a valid credential passes and resets the count", async () => {
      const { send } = await startIngress(transport);
      await failTwentyTimes(send);
      const throttled = await send("/hooks/wake", { headers: {} });
      expect(Number(throttled.headers.get("retry-after"))).toSatisfy((wait: number) => wait > 0 && wait <= 60);
      await expectRefusal(throttled, 429, "too_many_failures");
      expect((await send("/hooks/wake", { body: JSON_BODY })).status).toBe(200);
      await expectRefusal(await send("/hooks/wake", { headers: {} }), 401, "unauthorized");
    });

    test("per client that a trusted proxy forwards", async () => {
      const { send } = await startIngress(transport, { trustedProxies: ["127.0.0.0/8"] });
      await failTwentyTimes(send, { "x-forwarded-for": "203.0.113.9, 192.0.2.1" });
      const statusFor = async (forwarded: string) =>
        (await send("/hooks/wake", { headers: { "x-forwarded-for": forwarded } })).status;
      expect(await statusFor("192.0.2.1")).toBe(429);
      expect(await statusFor("::ffff:192.0.2.1")).toBe(429);
      expect(await statusFor("203.0.113.9")).toBe(401);
    });

    test("per peer when it is not a trusted proxy", async () => {
      const { send } = await startIngress(transport, { trustedProxies: ["203.0.113.1"] });
      await failTwentyTimes(send, { "x-forwarded-for": "192.0.2.1" });
      const response = await send("/hooks/wake", { headers: { "x-forwarded-for": "192.0.2.2" } });
      expect(response.status).toBe(429);
    });
  });
});
