import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readAnswers } from "./model-answer.ts";

const ANSWER = { choices: [{ message: { role: "assistant", content: "Done." }, finish_reason: "stop" }] };
const TEXT = JSON.stringify(ANSWER);

let server: Server;
let answer: RequestListener;
beforeAll(async () => {
  server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function ask(body: Buffer, headers: Record<string, string | number>): Promise<unknown> {
  answer = (_, response) => response.writeHead(200, headers).end(body);
  const { port } = server.address() as AddressInfo;
  const response = await readAnswers("chat")(`http://127.0.0.1:${port}/`, { method: "POST", body: "{}" });
  return response.json();
}

test.each([
  ["gzip", gzipSync(TEXT)],
  ["deflate", deflateSync(TEXT)],
  ["br", brotliCompressSync(TEXT)],
])("an answer is read that is compressed by %s, which nobody has asked for", async (coding, body) => {
  expect(await ask(body, { "content-encoding": coding })).toMatchObject(ANSWER);
});

test.each([
  ["becomes too long", gzipSync(" ".repeat(17 * 1024 * 1024)), { "content-encoding": "gzip" }, "too much"],
  ["is not what its coding says", Buffer.from(TEXT), { "content-encoding": "gzip" }, "an answer that broke off"],
  [
    "ends too soon",
    Buffer.from(TEXT),
    { "content-length": TEXT.length + 1, connection: "close" },
    "an answer that broke off",
  ],
])("an answer that %s is a failure", async (_, body, headers, what) => {
  await expect(ask(body, headers)).rejects.toMatchObject({ name: "FailedAnswer", what });
});
