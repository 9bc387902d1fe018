import { request as httpRequest, METHODS } from "node:http";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { HookRequest } from "../../src/core/types.ts";
import { createGate } from "../support/gate.ts";
import { startIngress } from "../support/ingress.ts";
import { openRaw, parseAnswers, rawHead } from "../support/raw.ts";

const JSON_BODY = JSON.stringify({ text: "hello" });

test.each(METHODS.filter((method) => !["POST", "CONNECT", "HEAD"].includes(method)))("%s gets 405", async (method) => {
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
});

test("HEAD gets 405 without a body", async () => {
  const { send } = await startIngress("socket");
  const response = await send("/hooks/wake", { method: "HEAD" });
  expect([response.status, await response.text()]).toEqual([405, ""]);
});

test("the request line may contain a whole URL", async () => {
  const { port, received } = await startIngress("socket");
  const connection = openRaw(port);
  connection.write(rawHead("http://hookline.test/hooks/wake", "Content-Length: 2"), "{}");
  await connection.reads('"hook":"wake"');
  expect(received[0]?.path).toBe("/hooks/wake");
});

test("repeated headers are joined", async () => {
  const { port, received } = await startIngress("socket");
  const connection = openRaw(port);
  const repeated = ["X-Event: a", "x-event: b, c", "Set-Cookie: one=1", "Set-Cookie: two=2"];
  connection.write(rawHead("/hooks/wake", "Content-Length: 2", ...repeated), "{}");
  await connection.reads("200 OK");
  expect(received[0]?.headers).toMatchObject({ "x-event": "a, b, c", "set-cookie": "one=1, two=2" });
});

test("a connection stays open after an answer, and closes after a 413", async () => {
  const { port } = await startIngress("socket");
  const connection = openRaw(port);
  const post = (body: string) => connection.write(rawHead("/hooks/a", `Content-Length: ${body.length}`), body);
  post("{}");
  await connection.reads("200 OK");
  post("{");
  await connection.reads("400 Bad Request");
  connection.write(rawHead("/hooks/a", "Content-Length: 10001"));
  expect(parseAnswers(await connection.closed).map(({ status }) => status)).toEqual([200, 400, 413]);
});

test("a body that will be refused is not requested by 100 Continue", async () => {
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
])("a client that sends oversized %s before it reads still gets the answer", async (_what, head, status, code) => {
  const { port } = await startIngress("socket");
  const connection = openRaw(port);
  connection.socket.pause();
  connection.write(head);
  for (let sent = 0; sent < 3_000_000; sent += 300_000) {
    connection.write(Buffer.alloc(300_000, "x"));
    await sleep(5);
  }
  connection.socket.resume();
  expect(parseAnswers(await connection.closed)).toMatchObject([{ status, body: { code } }]);
});

test("a body that does not arrive gets 408", async () => {
  const { port, refused, received } = await startIngress("socket", { hooks: { bodyTimeoutMs: 100 } });
  const connection = openRaw(port);
  connection.write(rawHead("/hooks/a", "Content-Length: 10"), "{");
  expect(parseAnswers(await connection.closed)).toMatchObject([{ status: 408, body: { code: "request_timeout" } }]);
  expect(refused).toMatchObject([{ error: { status: 408 } }]);
  expect(received).toEqual([]);
});

test("an aborted upload leaves no trace", async () => {
  const { port, refused, received, log, send } = await startIngress("socket");
  const connection = openRaw(port);
  connection.write(rawHead("/hooks/a", "Content-Length: 10"), "{");
  await sleep(50);
  connection.socket.resetAndDestroy();
  await sleep(50);
  expect([refused, received, log]).toEqual([[], [], []]);
  expect((await send("/hooks/a", { body: JSON_BODY })).status).toBe(200);
});

test("a request is processed although its client has disconnected", async () => {
  const done: HookRequest[] = [];
  const [arrived, gate] = [createGate(), createGate()];
  const { server, port, log } = await startIngress("socket", {
    receive: async (request) => {
      arrived.open();
      await gate.passed;
      done.push(request);
      return { status: 200, headers: {}, body: {} };
    },
  });
  const connection = openRaw(port);
  connection.write(rawHead("/hooks/a", "Content-Length: 2"), "{}");
  await arrived.passed;
  connection.socket.resetAndDestroy();
  await sleep(10);
  gate.open();
  await server.close();
  expect(done).toHaveLength(1);
  expect(log).toEqual([]);
});

test("a streamed answer ends when its client disconnects", async () => {
  const [arrived, gate] = [createGate(), createGate()];
  const body = Readable.from(["a"]);
  const { server, port, log } = await startIngress("socket", {
    routes: {
      async "POST /stream"() {
        arrived.open();
        await gate.passed;
        return { status: 200, headers: {}, body };
      },
    },
  });
  const connection = openRaw(port);
  connection.write(rawHead("/stream", "Content-Length: 0"));
  await arrived.passed;
  connection.socket.resetAndDestroy();
  await sleep(10);
  gate.open();
  await server.close();
  await expect.poll(() => body.destroyed).toBe(true);
  expect(log).toEqual([]);
});
