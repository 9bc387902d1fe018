import { describe, expect, test } from "vitest";
import { HookError, JournalUnavailable } from "../../src/core/errors.ts";
import { createParsers } from "../../src/core/ingress/parse-body.ts";
import { createGate } from "../support/gate.ts";
import { BEARER, TRANSPORTS, expectRefusal, startIngress, TOKEN } from "../support/ingress.ts";

const JSON_BODY = JSON.stringify({ text: "hello" });
const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

describe.each(TRANSPORTS)("through the %s", (transport) => {
  test("a request becomes a HookRequest, its answer comes back", async () => {
    const { send, received } = await startIngress(transport);
    const sentAt = Date.now();
    const response = await send("/hooks/a%20b/c/?x=1&x=2&y=", {
      headers: {
        ...BEARER,
        "Content-Type": "application/json",
        "Idempotency-Key": "key-1",
        "X-Event": "push",
      },
      body: JSON_BODY,
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ok: true, hook: "a b/c" });
    expect(received).toEqual([
      {
        id: expect.stringMatching(UUID_V7),
        hook: "a b/c",
        method: "POST",
        path: "/hooks/a%20b/c/",
        query: { x: "2", y: "" },
        headers: expect.objectContaining({ "x-event": "push", "content-type": "application/json" }),
        rawBody: Buffer.from(JSON_BODY),
        payload: { text: "hello" },
        payloadIsBody: true,
        contentType: "application/json",
        receivedAt: expect.any(Number),
        timings: { receiveMs: expect.any(Number), verifyMs: expect.any(Number) },
        credential: "token:default",
        client: "127.0.0.1",
        idempotencyKey: "key-1",
      },
    ]);
    expect(received[0]?.receivedAt).toBeGreaterThanOrEqual(sentAt);
    expect(received[0]?.receivedAt).toBeLessThanOrEqual(Date.now());
    expect(response.headers.get("x-request-id")).toBe(received[0]?.id);
  });

  test("JSON is not parsed if nothing reads the payload; what another process would not notice is still refused", async () => {
    const { send, received, refused } = await startIngress(transport, { readsPayload: () => false });
    const post = async (body: string | Uint8Array<ArrayBuffer>, type = "application/json"): Promise<number> =>
      (await send("/hooks/a", { body, headers: { ...BEARER, "content-type": type } })).status;
    expect(await post('{"a":1')).toBe(200);
    expect(received[0]).toMatchObject({ payload: undefined, payloadIsBody: true, rawBody: Buffer.from('{"a":1') });
    expect(await post('\ufeff{"a":1}')).toBe(200);
    expect(received[1]).toMatchObject({ payload: { a: 1 }, payloadIsBody: false });
    expect(await post(new Uint8Array([0x22, 0xff, 0x22]))).toBe(400);
    expect(await post("[".repeat(1001) + "]".repeat(1001))).toBe(400);
    expect(refused.map(({ error }) => error.code)).toEqual(["invalid_utf8", "invalid_json"]);
    expect(await post("a=1", "application/x-www-form-urlencoded")).toBe(200);
    expect(received[2]).toMatchObject({ payload: { a: "1" } });
  });

  test("a reload during the upload decides whether JSON is parsed", async () => {
    const [asked, reloaded] = [createGate(), createGate()];
    const used: unknown[] = [];
    const findParser = createParsers({ readMail: async () => ({}) });
    let isRead = false;
    const { send, received } = await startIngress(transport, {
      // Called before the body is read.
      findParser(...type) {
        asked.open();
        return findParser(...type);
      },
      readsPayload(_request, runtime) {
        used.push(runtime);
        return isRead;
      },
      async receive(request, runtime) {
        received.push(request);
        used.push(runtime);
        return { status: 200, headers: {} };
      },
    });
    const body = new ReadableStream({
      // `fetch` sends the head with the first piece.
      start: (stream) => stream.enqueue(Buffer.from('{"a"')),
      async pull(stream) {
        await reloaded.passed;
        stream.enqueue(Buffer.from(":1}"));
        stream.close();
      },
    });
    const answer = send("/hooks/a", {
      body,
      duplex: "half",
      headers: { ...BEARER, "content-type": "application/json" },
    });
    await asked.passed;
    isRead = true;
    reloaded.open();
    expect((await answer).status).toBe(200);
    expect(received[0]).toMatchObject({ payload: { a: 1 } });
    expect(used[0]).toBe(used[1]);
  });

  test("credentials are removed from the request and the log", async () => {
    const { send, received, log } = await startIngress(transport);
    await send(`/hooks/wake?token=${TOKEN}&a=1`, {
      headers: { ...BEARER, "x-gateway-token": TOKEN, "proxy-authorization": TOKEN, cookie: TOKEN },
      body: JSON_BODY,
    });
    expect(received).toHaveLength(1);
    expect(JSON.stringify([received, log])).not.toContain(TOKEN);
  });

  test("an answer without a body has none", async () => {
    const { send } = await startIngress(transport, { receive: async () => ({ status: 204, headers: {} }) });
    const response = await send("/hooks/wake", { body: JSON_BODY });
    expect(response.status).toBe(204);
    expect(await response.text()).toBe("");
    expect(response.headers.get("content-type")).toBeNull();
  });

  test("a HookError of the receiver is answered as it is", async () => {
    const { send, refused } = await startIngress(transport, {
      receive: async () => {
        throw new HookError("invalid_payload", { message: "text is missing." });
      },
    });
    await expectRefusal(await send("/hooks/wake", { body: JSON_BODY }), 400, "invalid_payload");
    expect(refused).toEqual([]);
  });

  test("an unexpected error is logged in full, and its answer reveals nothing", async () => {
    const { send, log } = await startIngress(transport, {
      receive: () => Promise.reject(new Error("disk 7 is gone")),
    });
    await expectRefusal(await send("/hooks/wake", { body: JSON_BODY }), 500, "internal_error");
    expect(log).toEqual([
      {
        level: "error",
        message: "a request failed",
        fields: {
          requestId: expect.stringMatching(UUID_V7),
          error: expect.stringContaining("disk 7 is gone"),
        },
      },
    ]);
  });

  test("an unavailable journal gives 503 with Retry-After", async () => {
    const { send, log } = await startIngress(transport, {
      receive: () => Promise.reject(new JournalUnavailable("full")),
    });
    const response = await send("/hooks/wake", { body: JSON_BODY });
    expect(response.headers.get("retry-after")).toBe("1");
    await expectRefusal(response, 503, "journal_unavailable");
    expect(log).toEqual([]);
  });

  describe("the path", () => {
    test.each(["/", "/hook/wake", "/hooksy", "/HOOKS/wake", "/%zz", `/${"a".repeat(500)}`])(
      "%s is not found, with or without a credential",
      async (path) => {
        const { send, refused } = await startIngress(transport);
        await expectRefusal(await send(path), 404, "not_found");
        await expectRefusal(await send(path, { method: "GET", headers: {} }), 404, "not_found");
        expect(refused).toEqual([]);
      },
    );

    test.each(["/hooks", "/hooks/", "/hooks//wake", "/hooks/%zz", "/hooks/a%2F%2e%2e%2Fwake", "/hooks/%ff"])(
      "%s gets 401 without a credential, 404 with one",
      async (path) => {
        const { send, received } = await startIngress(transport);
        await expectRefusal(await send(path, { headers: {} }), 401, "unauthorized");
        await expectRefusal(await send(path, { body: JSON_BODY }), 404, "not_found");
        expect(received).toEqual([]);
      },
    );

    test("disabled hooks are not found", async () => {
      const { send, hooks } = await startIngress(transport, { hooks: { enabled: false } });
      await expectRefusal(await send("/hooks/wake", { body: JSON_BODY }), 404, "not_found");
      hooks.enabled = true;
      expect((await send("/hooks/wake", { body: JSON_BODY })).status).toBe(200);
    });

    test("path and token can change while the service runs", async () => {
      const { send, hooks } = await startIngress(transport);
      hooks.path = "/in/bound";
      hooks.tokens = [{ name: "default", secrets: ["another"] }];
      await expectRefusal(await send("/in/bound/wake", { body: JSON_BODY }), 401, "unauthorized");
      const response = await send("/in/bound/wake", {
        headers: { "x-gateway-token": "another" },
        body: JSON_BODY,
      });
      expect(response.status).toBe(200);
      await expectRefusal(await send("/hooks/wake", { body: JSON_BODY }), 404, "not_found");
    });
  });

  describe("the method", () => {
    test.each(["GET", "OPTIONS"])("%s is not allowed", async (method) => {
      const { send } = await startIngress(transport);
      const response = await send("/hooks/wake", { method, headers: {} });
      expect(response.headers.get("allow")).toBe("POST");
      await expectRefusal(response, 405, "method_not_allowed");
    });

    test("never counts as a failed credential", async () => {
      const { send } = await startIngress(transport);
      for (let count = 0; count < 25; count++) await send("/hooks/wake", { method: "GET", headers: {} });
      expect((await send("/hooks/wake", { headers: {} })).status).toBe(401);
    });
  });
});
