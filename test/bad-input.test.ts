import { setTimeout as sleep } from "node:timers/promises";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { BEARER, startIngress, type Ingress } from "./support/ingress.ts";
import { expectFlatMemory } from "./support/memory.ts";
import { openRaw, parseAnswers, rawHead } from "./support/raw.ts";

const JSON_TYPE = { ...BEARER, "content-type": "application/json" };
const HEAD = rawHead("/hooks/any", "Transfer-Encoding: chunked");

/** The process serves, and has accepted nothing before. */
async function expectUnharmed({ send, received, log }: Ingress) {
  expect(received).toEqual([]);
  expect((await send("/hooks/any", { headers: JSON_TYPE, body: "{}" })).status).toBe(200);
  expect(log).toEqual([]);
}

async function sendRaw(port: number, ...pieces: (string | Buffer)[]) {
  const connection = openRaw(port);
  connection.write(...pieces);
  return parseAnswers(await connection.closed);
}

describe("bodies", () => {
  test.each([
    ["arrays 100,000 deep", "[".repeat(100_000)],
    ["arrays 100,000 deep and closed again", "[".repeat(100_000) + "]".repeat(100_000)],
    ["objects 30,000 deep", '{"a":'.repeat(30_000) + "1" + "}".repeat(30_000)],
    ["a lone surrogate's bytes", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ["Latin-1", Buffer.from('"caf\u00e9"', "latin1")],
    ["UTF-16", Buffer.from('{"a":1}', "utf16le")],
    ["a NUL", Buffer.from([0x7b, 0x00, 0x7d])],
  ])("%s", async (_what, body) => {
    const ingress = await startIngress("socket", { hooks: { maxBodyBytes: 262_144 } });
    expect((await ingress.send("/hooks/any", { headers: JSON_TYPE, body })).status).toBe(400);
    await expectUnharmed(ingress);
  });

  test("prototype keys do not pollute objects", async () => {
    const { send, received } = await startIngress("socket");
    const form = { ...BEARER, "content-type": "application/x-www-form-urlencoded" };
    await send("/hooks/a?__proto__=1&constructor=2", {
      headers: JSON_TYPE,
      body: '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    });
    await send("/hooks/a", { headers: form, body: "__proto__=1&__proto__=2&constructor=3" });
    expect(received).toHaveLength(2);
    expect(Object.hasOwn(received[0]?.query ?? {}, "__proto__")).toBe(true);
    expect({}).not.toHaveProperty("polluted");
    for (const { payload } of received) expect(Object.getPrototypeOf(payload)).toBe(Object.prototype);
  });

  test("decompression bombs do not use memory", async () => {
    const ingress = await startIngress("socket");
    const zeros = Buffer.alloc(8_000_000);
    const zipped = gzipSync(zeros);
    const bombs: [string, Buffer][] = [
      ["gzip", zipped],
      ["br", brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
      ["gzip, gzip", gzipSync(zipped)],
    ];
    await expectFlatMemory(1, async () => {
      for (const [coding, body] of bombs) {
        const headers = { ...JSON_TYPE, "content-encoding": coding };
        expect((await ingress.send("/hooks/any", { headers, body })).status).toBe(413);
      }
      ingress.refused.length = 0;
    });
    await expectUnharmed(ingress);
  });

  test("a form with very many fields is accepted", async () => {
    const { send, received } = await startIngress("socket", { hooks: { maxBodyBytes: 262_144 } });
    const headers = { ...BEARER, "content-type": "application/x-www-form-urlencoded" };
    expect((await send("/hooks/any", { headers, body: "a&".repeat(131_072) })).status).toBe(200);
    expect(received[0]?.payload).toMatchObject({ a: { length: 131_072 } });
  });
});

describe("chunks", () => {
  const CHUNK = `3e8\r\n${"x".repeat(1_000)}\r\n`;

  test("without an end are refused at the limit, and use no memory", async () => {
    const ingress = await startIngress("socket");
    // Concurrently: after each answer the connection stays open for a second.
    await expectFlatMemory(1, async () => {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => sendRaw(ingress.port, HEAD, CHUNK.repeat(1_000))),
      );
      for (const [answer] of answers) {
        expect(answer).toMatchObject({ status: 413, body: { code: "body_too_large" } });
      }
      ingress.refused.length = 0;
    });
    await expectUnharmed(ingress);
  });

  test.each([
    ["a size that is not a number", "zz\r\n{}\r\n0\r\n\r\n", 400],
    ["a huge size", "ffffffffffffffffff\r\n{}\r\n", 400],
    ["a negative size", "-2\r\n{}\r\n0\r\n\r\n", 400],
    ["a chunk longer than it says", "1\r\n{}\r\n0\r\n\r\n", 400],
    ["an endless extension", `2;${"x".repeat(100_000)}`, 413],
    ["line feeds only", "2\n{}\n0\n\n", 400],
  ])("with %s", async (_what, body, status) => {
    const ingress = await startIngress("socket");
    expect(await sendRaw(ingress.port, HEAD, body)).toMatchObject([{ status, body: { ok: false } }]);
    expect(ingress.refused).toEqual([]);
    await expectUnharmed(ingress);
  });
});

describe("malformed and ambiguous requests", () => {
  const body = (head: string[]) => rawHead("/hooks/any", ...head) + "{}";

  test.each([
    ["both lengths", body(["Content-Length: 2", "Transfer-Encoding: chunked"])],
    ["two lengths", body(["Content-Length: 2", "Content-Length: 3"])],
    ["two lengths in one line", body(["Content-Length: 2, 2"])],
    ["a signed length", body(["Content-Length: +2"])],
    ["a negative length", body(["Content-Length: -2"])],
    ["a length in hexadecimal", body(["Content-Length: 0x2"])],
    ["a transfer encoding that is nearly chunked", body(["Transfer-Encoding: xchunked"])],
    ["chunked before something else", body(["Transfer-Encoding: chunked, identity"])],
    ["a blank before the colon", body(["Content-Length : 2"])],
    ["a header without a name", body([": x", "Content-Length: 2"])],
    ["a folded header", body(["X-A: 1", " 2", "Content-Length: 2"])],
    ["a NUL in a header", body(["X-A: \0", "Content-Length: 2"])],
    ["no host", "POST /hooks/any HTTP/1.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"],
    ["two hosts", body(["Content-Length: 2", "HOST: other.test"])],
    ["the same host twice", body(["Content-Length: 2", "Host: hookline.test"])],
    ["HTTP/0.9", "POST /hooks/any HTTP/0.9\r\nHost: x\r\nConnection: close\r\n\r\n"],
    ["HTTP/0.9 without a version", "GET /healthz\r\nHost: x\r\nConnection: close\r\n\r\n"],
    ["HTTP/2 without negotiation", "POST /hooks/any HTTP/2.0\r\nHost: x\r\nConnection: close\r\n\r\n"],
    ["an unknown version", "POST /hooks/any HTTP/9.9\r\nHost: x\r\n\r\n"],
    ["an unknown method", "HOOK /hooks/any HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a blank in the path", "POST /hooks/a b HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["the start of TLS", Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03])],
  ])("%s", async (_what, bytes) => {
    const ingress = await startIngress("socket");
    expect(await sendRaw(ingress.port, bytes)).toMatchObject([
      { status: 400, body: { ok: false, code: "bad_request" } },
    ]);
    await expectUnharmed(ingress);
  });

  test("bytes after a complete request do not affect its answer", async () => {
    const { port, received } = await startIngress("socket");
    const answers = await sendRaw(port, `${rawHead("/hooks/any", "Content-Length: 2")}{}SMUGGLED / HTTP/1.1\r\n\r\n`);
    expect(answers).toMatchObject([{ status: 200 }, { status: 400 }]);
    expect(received).toHaveLength(1);
  });

  test("a body that breaks after the answer gets no second answer", async () => {
    const { port } = await startIngress("socket");
    const connection = openRaw(port);
    connection.write("POST /hooks/any HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    await connection.reads("401");
    connection.write("zz\r\n");
    expect(parseAnswers(await connection.closed)).toMatchObject([{ status: 401 }]);
  });

  test("a request inside a body is not executed", async () => {
    const { port, received } = await startIngress("socket");
    const inner = `${rawHead("/hooks/inner", "Content-Length: 2")}{}`;
    const connection = openRaw(port);
    connection.write(rawHead("/hooks/outer", `Content-Length: ${inner.length}`), inner);
    await connection.reads("400 Bad Request");
    await sleep(50);
    expect(received).toEqual([]);
  });

  test("pipelined requests are answered in order", async () => {
    const { port } = await startIngress("socket");
    const connection = openRaw(port);
    const names = Array.from({ length: 50 }, (_, index) => `n${index}`);
    connection.write(names.map((name) => `${rawHead(`/hooks/${name}`, "Content-Length: 2")}{}`).join(""));
    const text = await connection.reads('"hook":"n49"');
    expect([...text.matchAll(/"hook":"(n\d+)"/g)].map(([, name]) => name)).toEqual(names);
  });
});

describe("oversized heads", () => {
  test.each([
    ["one long header", `X-A: ${"x".repeat(100_000)}`],
    ["very many headers", "a:b\r\n".repeat(20_000) + "a:b"],
    ["a long path", ""],
  ])("%s", async (_what, headers) => {
    const ingress = await startIngress("socket");
    const path = headers === "" ? `/hooks/${"x".repeat(100_000)}` : "/hooks/any";
    expect(await sendRaw(ingress.port, rawHead(path, headers || "X-A: b"))).toMatchObject([
      { status: 431, body: { code: "headers_too_large" } },
    ]);
    await expectUnharmed(ingress);
  });
});

describe("clients", () => {
  test("that send slowly get a 408, and are disconnected although they keep sending", async () => {
    const ingress = await startIngress("socket", { hooks: { bodyTimeoutMs: 200 } });
    const slow = Array.from({ length: 50 }, async () => {
      const connection = openRaw(ingress.port);
      connection.write(rawHead("/hooks/any", "Content-Length: 1000"));
      const drip = setInterval(() => connection.write("x"), 20);
      const answers = parseAnswers(await connection.closed);
      clearInterval(drip);
      return answers;
    });
    for (const answers of await Promise.all(slow)) expect(answers).toMatchObject([{ status: 408 }]);
    await expectUnharmed(ingress);
  });

  test("that disconnect leave nothing behind", async () => {
    const ingress = await startIngress("socket");
    await expectFlatMemory(5, async () => {
      const connections = Array.from({ length: 40 }, () => openRaw(ingress.port));
      for (const { write } of connections) write(rawHead("/hooks/any", "Content-Length: 9000"), "x".repeat(5_000));
      await sleep(30);
      for (const { socket } of connections) socket.resetAndDestroy();
      await Promise.all(connections.map(({ closed }) => closed));
    });
    expect(ingress.refused).toEqual([]);
    await expectUnharmed(ingress);
  });
});
