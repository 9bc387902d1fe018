import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { BEARER, TRANSPORTS, expectRefusal, startIngress } from "../support/ingress.ts";

const JSON_BODY = JSON.stringify({ text: "hello" });

/** A piece per millisecond, until it is canceled. */
function endlessBody(stopped: () => void = () => {}, pieceBytes = 1_000): ReadableStream {
  return new ReadableStream({
    async pull(stream) {
      await sleep(1);
      stream.enqueue(new Uint8Array(pieceBytes));
    },
    cancel: stopped,
  });
}

describe.each(TRANSPORTS)("through the %s", (transport) => {
  describe("the body", () => {
    test.each([
      ["JSON without a type", undefined, JSON_BODY, { text: "hello" }],
      ["+json", "application/cloudevents+json; charset=utf-8", JSON_BODY, { text: "hello" }],
      ["text that holds JSON", "text/plain", "[1]", [1]],
      ["a form", "application/x-www-form-urlencoded", "a=1&a=2&b=c+d", { a: ["1", "2"], b: "c d" }],
      ["a form with JSON", "application/x-www-form-urlencoded", "payload=%7B%22a%22%3A1%7D", { a: 1 }],
      [
        "a multipart form",
        "multipart/form-data; boundary=x",
        '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--',
        { a: "1" },
      ],
      ["XML", "application/atom+xml", "<a>1</a>", { a: "1" }],
      ["a mail", "message/rfc822", "From: a@b.c", { mail: "From: a@b.c" }],
    ])("%s", async (_what, type, text, payload) => {
      const { send, received } = await startIngress(transport);
      const headers = { ...BEARER, ...(type && { "content-type": type }) };
      expect((await send("/hooks/any", { headers, body: Buffer.from(text) })).status).toBe(200);
      expect(received[0]).toMatchObject({ payload, contentType: type ?? "", rawBody: Buffer.from(text) });
    });

    test("is decompressed", async () => {
      const { send, received } = await startIngress(transport);
      const headers = { ...BEARER, "content-encoding": "gzip" };
      expect((await send("/hooks/any", { headers, body: gzipSync(JSON_BODY) })).status).toBe(200);
      expect(received[0]).toMatchObject({ payload: { text: "hello" }, rawBody: Buffer.from(JSON_BODY) });
    });

    test("is refused one byte over the limit", async () => {
      const { send, refused } = await startIngress(transport);
      const bodyOf = (size: number) => `"${"x".repeat(size - 2)}"`;
      expect((await send("/hooks/any", { body: bodyOf(10_000) })).status).toBe(200);
      await expectRefusal(await send("/hooks/any", { body: bodyOf(10_001) }), 413, "body_too_large");
      expect(refused).toMatchObject([{ request: { hook: "any" }, error: { status: 413 } }]);
    });

    test("is refused over the limit without a declared length", async () => {
      const { send } = await startIngress(transport);
      const response = await send("/hooks/any", { body: endlessBody(), duplex: "half" });
      expect(response.status).toBe(413);
      expect(await response.json()).toMatchObject({ code: "body_too_large" });
    });

    test("is refused over the limit after decompression", async () => {
      const { send, received } = await startIngress(transport);
      const headers = { ...BEARER, "content-encoding": "gzip" };
      const response = await send("/hooks/any", { headers, body: gzipSync(Buffer.alloc(10_001)) });
      await expectRefusal(response, 413, "body_too_large");
      expect(received).toEqual([]);
    });

    test.each([
      ["{", 400, "invalid_json", {}],
      ["{}", 415, "unsupported_media_type", { "content-type": "image/png" }],
      ["{}", 415, "unsupported_encoding", { "content-encoding": "compress" }],
      ["{}", 400, "invalid_encoding", { "content-encoding": "br" }],
    ])("%j is refused with %i %s", async (text, status, code, headers) => {
      const { send, received, refused } = await startIngress(transport);
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

    test("is recorded when it was read and is refused", async () => {
      const { send, refused } = await startIngress(transport);
      await send("/hooks/any", {
        body: "not JSON",
        headers: { ...BEARER, "content-type": "application/json" },
      });
      expect(refused[0]?.request.rawBody.toString()).toBe("not JSON");
    });
  });
});

describe("in process", () => {
  test("the source of a refused body is canceled, once too much of it has come", async () => {
    const { send } = await startIngress("process");
    const stopped = new Promise((resolve) => {
      const body = endlessBody(() => resolve("stopped"), 8 * 1024 * 1024);
      void send("/hooks/any", { body, duplex: "half" }).then((response) => response.text());
    });
    await expect(stopped).resolves.toBe("stopped");
  });

  test("a body that fails leaves no trace", async () => {
    const { send, received, refused, log } = await startIngress("process");
    const broken = new ReadableStream({ pull: (stream) => stream.error(new Error("broken off")) });
    await expect(send("/hooks/any", { body: broken, duplex: "half" })).rejects.toThrow("broken off");
    expect([received, refused, log]).toEqual([[], [], []]);
  });
});
