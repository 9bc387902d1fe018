import { request as httpRequest, METHODS } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { HookError } from "../src/errors.ts";
import { JournalUnavailable } from "../src/journal/port.ts";
import type { HookRequest } from "../src/types.ts";
import { BEARER, DOORS, openRaw, parseAnswers, rawHead, startIngress, TOKEN } from "./support/ingress.ts";

const JSON_BODY = JSON.stringify({ text: "hello" });
const JSON_TYPE = { "content-type": "application/json" };
const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

/** What every refusal looks like. */
async function expectRefusal(response: Response, status: number, code: string) {
  expect({ status: response.status, body: await response.json() }).toEqual({
    status,
    body: {
      ok: false,
      code,
      error: expect.stringMatching(/\.$/),
      requestId: response.headers.get("x-request-id"),
    },
  });
  expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
}

/** A kilobyte a millisecond, until it is told to stop. */
function endlessBody(stopped: () => void = () => {}): ReadableStream {
  return new ReadableStream({
    async pull(stream) {
      await sleep(1);
      stream.enqueue(new Uint8Array(1_000));
    },
    cancel: stopped,
  });
}

describe.each(DOORS)("through the %s", (door) => {
  test("a request becomes a HookRequest, its answer comes back", async () => {
    const { send, received } = await startIngress(door);
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
        receivedAt: expect.closeTo(Date.now(), -4),
        credential: "token",
        client: "127.0.0.1",
        idempotencyKey: "key-1",
      },
    ]);
    expect(response.headers.get("x-request-id")).toBe(received[0]?.id);
  });

  test("no part of a credential goes further", async () => {
    const { send, received, log } = await startIngress(door);
    await send(`/hooks/wake?token=${TOKEN}&a=1`, {
      headers: { ...BEARER, "x-gateway-token": TOKEN, "proxy-authorization": TOKEN, cookie: TOKEN },
      body: JSON_BODY,
    });
    expect(received).toHaveLength(1);
    expect(JSON.stringify([received, log])).not.toContain(TOKEN);
  });

  test("an answer without a body has none", async () => {
    const { send } = await startIngress(door, { receive: async () => ({ status: 204, headers: {} }) });
    const response = await send("/hooks/wake", { body: JSON_BODY });
    expect(response.status).toBe(204);
    expect(await response.text()).toBe("");
    expect(response.headers.get("content-type")).toBeNull();
  });

  test("a refusal by what stands behind is told as it is", async () => {
    const { send, refused } = await startIngress(door, {
      receive: async () => {
        throw new HookError(400, "invalid_payload", "text is missing.");
      },
    });
    await expectRefusal(await send("/hooks/wake", { body: JSON_BODY }), 400, "invalid_payload");
    expect(refused).toEqual([]);
  });

  test("a fault is logged whole and told as nothing", async () => {
    const { send, log } = await startIngress(door, {
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

  test("a journal that cannot write asks for another try", async () => {
    const { send, log } = await startIngress(door, {
      receive: () => Promise.reject(new JournalUnavailable("full")),
    });
    const response = await send("/hooks/wake", { body: JSON_BODY });
    expect(response.headers.get("retry-after")).toBe("1");
    await expectRefusal(response, 503, "journal_unavailable");
    expect(log).toEqual([]);
  });

  describe("the path", () => {
    test.each(["/", "/hook/wake", "/hooksy", "/HOOKS/wake", "/%zz", `/${"a".repeat(500)}`])(
      "%s is nothing, credential or not",
      async (path) => {
        const { send, refused } = await startIngress(door);
        await expectRefusal(await send(path), 404, "not_found");
        await expectRefusal(await send(path, { method: "GET", headers: {} }), 404, "not_found");
        expect(refused).toEqual([]);
      },
    );

    test.each(["/hooks", "/hooks/", "/hooks//wake", "/hooks/%zz", "/hooks/a%2F%2e%2e%2Fwake", "/hooks/%ff"])(
      "%s names no hook, which only a credential learns",
      async (path) => {
        const { send, received } = await startIngress(door);
        await expectRefusal(await send(path, { headers: {} }), 401, "unauthorized");
        await expectRefusal(await send(path, { body: JSON_BODY }), 404, "not_found");
        expect(received).toEqual([]);
      },
    );

    test("hooks that are off are not there", async () => {
      const { send, hooks } = await startIngress(door, { hooks: { enabled: false } });
      await expectRefusal(await send("/hooks/wake", { body: JSON_BODY }), 404, "not_found");
      hooks.enabled = true;
      expect((await send("/hooks/wake", { body: JSON_BODY })).status).toBe(200);
    });

    test("path and token may change while the service runs", async () => {
      const { send, hooks } = await startIngress(door);
      hooks.path = "/in/bound";
      hooks.token = "another";
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
    test.each(["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])(
      "%s is not allowed",
      async (method) => {
        const { send } = await startIngress(door);
        const response = await send("/hooks/wake", { method, headers: {} });
        expect(response.headers.get("allow")).toBe("POST");
        await expectRefusal(response, 405, "method_not_allowed");
      },
    );

    test("never counts as a failed credential", async () => {
      const { send } = await startIngress(door);
      for (let count = 0; count < 25; count++) await send("/hooks/wake", { method: "GET", headers: {} });
      expect((await send("/hooks/wake", { headers: {} })).status).toBe(401);
    });
  });

  describe("the credential", () => {
    test.each([
      ["Bearer", { authorization: `Bearer ${TOKEN}` }, ""],
      ["bearer in small letters", { authorization: `bearer ${TOKEN}` }, ""],
      ["the header", { "x-gateway-token": TOKEN }, ""],
      ["the query", {}, `?token=${TOKEN}`],
      ["Bearer over a wrong header", { ...BEARER, "x-gateway-token": "wrong" }, "?token=wrong"],
      ["the header over a wrong query", { "x-gateway-token": TOKEN }, "?token=wrong"],
      ["the header beside another scheme", { authorization: "Basic x", "x-gateway-token": TOKEN }, ""],
    ])("%s lets in", async (_what, headers: Record<string, string>, search) => {
      const { send } = await startIngress(door);
      expect((await send(`/hooks/wake${search}`, { headers, body: JSON_BODY })).status).toBe(200);
    });

    test.each([
      ["nothing", {}, ""],
      ["a wrong Bearer", { authorization: "Bearer wrong" }, ""],
      [
        "a wrong Bearer before right others",
        { authorization: "Bearer wrong", "x-gateway-token": TOKEN },
        `?token=${TOKEN}`,
      ],
      ["a wrong header before a right query", { "x-gateway-token": "wrong" }, `?token=${TOKEN}`],
      ["an empty header", { "x-gateway-token": "" }, ""],
      ["a wrong query", {}, "?token=wrong"],
      ["the token in another scheme", { authorization: `Basic ${TOKEN}` }, ""],
      ["more than the token", { authorization: `Bearer ${TOKEN}x` }, ""],
    ])("%s does not", async (_what, headers: Record<string, string>, search) => {
      const { send, received, refused } = await startIngress(door);
      const response = await send(`/hooks/wake${search}`, { headers, body: JSON_BODY });
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      await expectRefusal(response, 401, "unauthorized");
      expect([received, refused]).toEqual([[], []]);
    });

    test("in the query is deprecated: told on every answer, logged each time it lets in", async () => {
      const { send, log } = await startIngress(door);
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

  describe("failures are counted", () => {
    async function failTwentyTimes(
      send: (path: string, init: RequestInit) => Promise<Response>,
      headers = {},
    ) {
      for (let count = 0; count < 20; count++) {
        expect(
          (await send("/hooks/wake", { headers: { "x-gateway-token": "wrong", ...headers } })).status,
        ).toBe(401);
      }
    }

    test("the 21st is 429, a right credential passes and forgives", async () => {
      const { send } = await startIngress(door);
      await failTwentyTimes(send);
      const throttled = await send("/hooks/wake", { headers: {} });
      expect(Number(throttled.headers.get("retry-after"))).toSatisfy(
        (wait: number) => wait > 50 && wait <= 60,
      );
      await expectRefusal(throttled, 429, "too_many_failures");
      expect((await send("/hooks/wake", { body: JSON_BODY })).status).toBe(200);
      await expectRefusal(await send("/hooks/wake", { headers: {} }), 401, "unauthorized");
    });

    test("for each client that a trusted proxy names", async () => {
      const { send } = await startIngress(door, { trustedProxies: ["127.0.0.0/8"] });
      await failTwentyTimes(send, { "x-forwarded-for": "203.0.113.9, 192.0.2.1" });
      const statusFor = async (forwarded: string) =>
        (await send("/hooks/wake", { headers: { "x-forwarded-for": forwarded } })).status;
      expect(await statusFor("192.0.2.1")).toBe(429);
      expect(await statusFor("::ffff:192.0.2.1")).toBe(429);
      expect(await statusFor("203.0.113.9")).toBe(401);
    });

    test("for the peer itself, whatever it forwards, when it is not trusted", async () => {
      const { send } = await startIngress(door, { trustedProxies: ["203.0.113.1"] });
      await failTwentyTimes(send, { "x-forwarded-for": "192.0.2.1" });
      const response = await send("/hooks/wake", { headers: { "x-forwarded-for": "192.0.2.2" } });
      expect(response.status).toBe(429);
    });
  });

  describe("the body", () => {
    test.each([
      ["JSON without a type", undefined, JSON_BODY, { text: "hello" }],
      ["+json", "application/cloudevents+json; charset=utf-8", JSON_BODY, { text: "hello" }],
      ["text that holds JSON", "text/plain", "[1]", [1]],
      ["a form", "application/x-www-form-urlencoded", "a=1&a=2&b=c+d", { a: ["1", "2"], b: "c d" }],
      ["a form with JSON", "application/x-www-form-urlencoded", "payload=%7B%22a%22%3A1%7D", { a: 1 }],
    ])("%s", async (_what, type, text, payload) => {
      const { send, received } = await startIngress(door);
      const headers = { ...BEARER, ...(type && { "content-type": type }) };
      expect((await send("/hooks/any", { headers, body: Buffer.from(text) })).status).toBe(200);
      expect(received[0]).toMatchObject({ payload, contentType: type ?? "", rawBody: Buffer.from(text) });
    });

    test("is taken apart when it is compressed", async () => {
      const { send, received } = await startIngress(door);
      const headers = { ...BEARER, "content-encoding": "gzip" };
      expect((await send("/hooks/any", { headers, body: gzipSync(JSON_BODY) })).status).toBe(200);
      expect(received[0]).toMatchObject({ payload: { text: "hello" }, rawBody: Buffer.from(JSON_BODY) });
    });

    test("is refused over the limit, to the byte", async () => {
      const { send, refused } = await startIngress(door);
      const bodyOf = (size: number) => `"${"x".repeat(size - 2)}"`;
      expect((await send("/hooks/any", { body: bodyOf(10_000) })).status).toBe(200);
      await expectRefusal(await send("/hooks/any", { body: bodyOf(10_001) }), 413, "body_too_large");
      expect(refused).toMatchObject([{ request: { hook: "any" }, error: { status: 413 } }]);
    });

    test("is refused over the limit when its length is not declared", async () => {
      const { send } = await startIngress(door);
      const response = await send("/hooks/any", { body: endlessBody(), duplex: "half" });
      expect(response.status).toBe(413);
      expect(await response.json()).toMatchObject({ code: "body_too_large" });
    });

    test("is refused over the limit when it grows", async () => {
      const { send, received } = await startIngress(door);
      const headers = { ...BEARER, "content-encoding": "gzip" };
      const response = await send("/hooks/any", { headers, body: gzipSync(Buffer.alloc(10_001)) });
      await expectRefusal(response, 413, "body_too_large");
      expect(received).toEqual([]);
    });

    test.each([
      ["", 400, "invalid_json", {}],
      ["{", 400, "invalid_json", {}],
      ["hello", 415, "unsupported_media_type", { "content-type": "text/plain" }],
      ["{}", 415, "unsupported_media_type", { "content-type": "multipart/form-data; boundary=x" }],
      ["{}", 415, "unsupported_media_type", { "content-type": "application/json; charset=latin1" }],
      ["{}", 415, "unsupported_encoding", { "content-encoding": "compress" }],
      ["{}", 400, "invalid_encoding", { "content-encoding": "br" }],
    ])("%j is refused with %i %s", async (text, status, code, headers) => {
      const { send, received, refused } = await startIngress(door);
      const init = {
        headers: { "content-type": "application/json", ...BEARER, ...headers },
        body: Buffer.from(text),
      };
      const response = await send("/hooks/some/name?a=1", init);
      const requestId = response.headers.get("x-request-id");
      await expectRefusal(response, status, code);
      expect(received).toEqual([]);
      expect(refused).toMatchObject([
        {
          request: { id: requestId, hook: "some/name", query: { a: "1" }, payload: undefined },
          error: { code },
        },
      ]);
    });

    test("that was refused is handed on as far as it was read", async () => {
      const { send, refused } = await startIngress(door);
      await send("/hooks/any", {
        body: "not JSON",
        headers: { ...BEARER, "content-type": "application/json" },
      });
      expect(refused[0]?.request.rawBody.toString()).toBe("not JSON");
    });
  });

  describe("routes of the operator", () => {
    const register: Parameters<typeof startIngress>[1] = {
      register(app) {
        app.get("/healthz", () => ({ ok: true }));
        app.get("/hooks/mine", () => ({ mine: true }));
        app.post("/api/echo", (request) => request.body);
        app.get("/api/fails", () => Promise.reject(new Error("secret")));
        app.get("/api/refuses", () => Promise.reject(new HookError(401, "unauthorized", "Sign in.")));
        app.get("/api/cookies", (_request, reply) => reply.header("set-cookie", ["a=1", "b=2"]).send({}));
      },
    };

    test("come before hooks", async () => {
      const { send } = await startIngress(door, register);
      expect(await (await send("/healthz", { method: "GET" })).json()).toEqual({ ok: true });
      expect(await (await send("/hooks/mine", { method: "GET" })).json()).toEqual({ mine: true });
      expect((await send("/hooks/mine", { body: JSON_BODY })).status).toBe(200);
      await expectRefusal(await send("/healthz", { body: JSON_BODY }), 404, "not_found");
    });

    test("have their bodies parsed, and set what headers they like", async () => {
      const { send } = await startIngress(door, register);
      const headers = { "content-type": "application/json" };
      expect(await (await send("/api/echo", { headers, body: JSON_BODY })).json()).toEqual({ text: "hello" });
      const response = await send("/api/cookies", { method: "GET" });
      expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    });

    test("hear who asks before sending", async () => {
      const { port } = await startIngress("socket", register);
      const connection = openRaw(port);
      connection.write("POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n");
      connection.write("Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
      await connection.reads("100 Continue");
      connection.write("[]");
      expect(await connection.reads("[]")).toContain("200 OK");
    });

    test("fail in the same shape", async () => {
      const { send, log } = await startIngress(door, register);
      await expectRefusal(await send("/api/refuses", { method: "GET" }), 401, "unauthorized");
      await expectRefusal(await send("/api/fails", { method: "GET" }), 500, "internal_error");
      const headers = { "content-type": "application/json" };
      await expectRefusal(await send("/api/echo", { headers, body: "{" }), 400, "bad_request");
      expect(log).toMatchObject([{ level: "error", fields: { error: expect.stringContaining("secret") } }]);
    });
  });

  describe("stopping", () => {
    test("finishes what is in flight and takes nothing new", async () => {
      let finish = () => {};
      const { server, send, received } = await startIngress(door, {
        receive: (request) =>
          new Promise((resolve) => {
            received.push(request);
            finish = () => resolve({ status: 200, headers: {}, body: { ok: true } });
          }),
      });
      const answer = send("/hooks/wake", { body: JSON_BODY });
      await expect.poll(() => received.length).toBe(1);
      let closed = false;
      const closing = server.close().then(() => (closed = true));
      await sleep(50);
      expect(closed).toBe(false);
      const late = await server.handle(new Request("http://hookline.test/hooks/wake", { method: "POST" }));
      expect([late.status, late.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(await late.json()).toMatchObject({ ok: false, code: "draining" });

      finish();
      expect((await answer).status).toBe(200);
      await closing;
      expect(received).toHaveLength(1);
    });
  });
});

describe("in process", () => {
  test("the source of a body that is refused is told to stop", async () => {
    const { send } = await startIngress("process");
    const stopped = new Promise((resolve) => {
      const body = endlessBody(() => resolve("stopped"));
      void send("/hooks/any", { body, duplex: "half" }).then((response) => response.text());
    });
    await expect(stopped).resolves.toBe("stopped");
  });

  test("a body that breaks off leaves no trace", async () => {
    const { send, received, refused, log } = await startIngress("process");
    const broken = new ReadableStream({ pull: (stream) => stream.error(new Error("broken off")) });
    await expect(send("/hooks/any", { body: broken, duplex: "half" })).rejects.toThrow("broken off");
    expect([received, refused, log]).toEqual([[], [], []]);
  });
});

describe("on a connection", () => {
  test.each(METHODS.filter((method) => !["POST", "CONNECT", "HEAD"].includes(method)))(
    "%s is answered 405",
    async (method) => {
      const { port } = await startIngress("socket");
      const status = await new Promise((resolve, reject) => {
        httpRequest({ port, host: "127.0.0.1", method, path: "/hooks/wake" }, (response) => {
          response.resume();
          resolve([response.statusCode, response.headers.allow]);
        })
          .on("error", reject)
          .end();
      });
      expect(status).toEqual([405, "POST"]);
    },
  );

  test("HEAD is answered 405 without a body", async () => {
    const { send } = await startIngress("socket");
    const response = await send("/hooks/wake", { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([405, ""]);
  });

  test("a whole URL in the request line is a path like any other", async () => {
    const { port, received } = await startIngress("socket");
    const connection = openRaw(port);
    connection.write(rawHead("http://hookline.test/hooks/wake", "Content-Length: 2"), "{}");
    await connection.reads('"hook":"wake"');
    expect(received[0]?.path).toBe("/hooks/wake");
  });

  test("it stays open after an answer, and closes after a 413", async () => {
    const { port } = await startIngress("socket");
    const connection = openRaw(port);
    const post = (body: string) =>
      connection.write(rawHead("/hooks/a", `Content-Length: ${body.length}`), body);
    post("{}");
    await connection.reads("200 OK");
    post("{");
    await connection.reads("400 Bad Request");
    connection.write(rawHead("/hooks/a", "Content-Length: 10001"));
    expect(parseAnswers(await connection.closed).map(({ status }) => status)).toEqual([200, 400, 413]);
  });

  test("a body that nobody wants is not asked for", async () => {
    const { port } = await startIngress("socket");
    const wanted = openRaw(port);
    wanted.write(rawHead("/hooks/a", "Content-Length: 2", "Expect: 100-continue"));
    await wanted.reads("100 Continue");
    wanted.write("{}");
    await wanted.reads("200 OK");

    const unwanted = openRaw(port);
    unwanted.write(rawHead("/hooks/a", "Content-Length: 10001", "Expect: 100-continue"));
    expect(await unwanted.closed).toMatch(/^HTTP\/1\.1 413 /);
  });

  test.each([
    ["a body", rawHead("/hooks/a", "Content-Length: 3000000"), 413, "body_too_large"],
    ["headers", "POST /hooks/a HTTP/1.1\r\nX-A: ", 431, "headers_too_large"],
  ])(
    "a client that sends %s to the end before it listens hears that it was too much",
    async (_what, head, status, code) => {
      const { port } = await startIngress("socket");
      const connection = openRaw(port);
      connection.socket.pause();
      connection.write(head);
      for (let sent = 0; sent < 3_000_000; sent += 100_000) {
        connection.write(Buffer.alloc(100_000, "x"));
        await sleep(5);
      }
      connection.socket.resume();
      expect(parseAnswers(await connection.closed)).toMatchObject([{ status, body: { code } }]);
    },
  );

  test("a body that does not come is not waited for", async () => {
    const { port, refused, received } = await startIngress("socket", { hooks: { bodyTimeoutMs: 100 } });
    const connection = openRaw(port);
    connection.write(rawHead("/hooks/a", "Content-Length: 10"), "{");
    expect(parseAnswers(await connection.closed)).toMatchObject([
      { status: 408, body: { code: "request_timeout" } },
    ]);
    expect(refused).toMatchObject([{ error: { status: 408 } }]);
    expect(received).toEqual([]);
  });

  test("an upload that is broken off leaves no trace", async () => {
    const { port, refused, received, log, send } = await startIngress("socket");
    const connection = openRaw(port);
    connection.write(rawHead("/hooks/a", "Content-Length: 10"), "{");
    await sleep(50);
    connection.socket.resetAndDestroy();
    await sleep(50);
    expect([refused, received, log]).toEqual([[], [], []]);
    expect((await send("/hooks/a", { body: JSON_BODY })).status).toBe(200);
  });

  test("a client that goes away does not undo what was taken", async () => {
    const done: HookRequest[] = [];
    const { server, port, log } = await startIngress("socket", {
      receive: async (request) => {
        await sleep(100);
        done.push(request);
        return { status: 200, headers: {}, body: {} };
      },
    });
    const connection = openRaw(port);
    connection.write(rawHead("/hooks/a", "Content-Length: 2"), "{}");
    await sleep(50);
    connection.socket.resetAndDestroy();
    await sleep(10);
    await server.close();
    expect(done).toHaveLength(1);
    expect(log).toEqual([]);
  });

  test("stopping does not wait for ever", async () => {
    const { server, send } = await startIngress("socket", {
      drainMs: 50,
      receive: () => new Promise(() => {}),
    });
    const answer = send("/hooks/wake", { body: JSON_BODY }).catch(() => "cut off");
    await sleep(50);
    await server.close();
    expect(await answer).toBe("cut off");
  });

  test("stopping closes idle connections at once, and answers new requests on live ones with 503", async () => {
    let finish = () => {};
    const { server, port } = await startIngress("socket", {
      receive: () =>
        new Promise((resolve) => (finish = () => resolve({ status: 200, headers: {}, body: {} }))),
    });
    const idle = openRaw(port);
    idle.write(rawHead("/nothing", "Content-Length: 0"));
    await idle.reads("404");
    const silent = openRaw(port);
    const uploading = openRaw(port);
    uploading.write(rawHead("/hooks/a", "Content-Length: 2"), "{");
    const late = openRaw(port);
    late.write("POST /hooks/a HTTP/1.1\r\n");
    await sleep(50);

    const closing = server.close();
    await idle.closed;
    late.write(rawHead("/hooks/a", "Content-Length: 2").split("\r\n").slice(1).join("\r\n"), "{}");
    const [refusal] = parseAnswers(await late.closed);
    expect(refusal).toMatchObject({ status: 503, body: { code: "draining" } });

    uploading.write("}");
    await sleep(50);
    finish();
    const answer = await uploading.closed;
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toMatch(/^connection: close/im);
    await closing;
    await silent.closed;
  });
});
