import { createServer, type RequestListener, type Server } from "node:http";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { AnswerTooLong, limitFetch } from "./limited-fetch.ts";

let server: Server | undefined;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
  server = undefined;
});

async function listen(answer: RequestListener): Promise<string> {
  const opened = createServer(answer);
  server = opened;
  await new Promise<void>((resolve) => opened.listen(0, "127.0.0.1", resolve));
  const address = opened.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return `http://127.0.0.1:${address.port}/`;
}

const limited = limitFetch({ maxBytes: 1000 });

test("an answer within the limits is as it was sent", async () => {
  const url = await listen((_, response) => response.writeHead(201, { "x-own": "1" }).end("x".repeat(1000)));
  const response = await limited(url);
  expect({ status: response.status, own: response.headers.get("x-own"), url: response.url }).toEqual({
    status: 201,
    own: "1",
    url,
  });
  expect(await response.text()).toHaveLength(1000);
});

test("an answer without a body", async () => {
  const url = await listen((_, response) => response.writeHead(204).end());
  expect((await limited(url)).status).toBe(204);
});

test("a length over the limit is refused before the body is read", async () => {
  const url = await listen((_, response) => response.end("x".repeat(1001)));
  await expect(limited(url)).rejects.toThrow(AnswerTooLong);
});

test("an answer that does not end is cut off, and its connection is closed", async () => {
  const closed = Promise.withResolvers<void>();
  const url = await listen((_, response) => {
    response.on("close", closed.resolve);
    const write = (): void => {
      while (!response.destroyed && response.write("x".repeat(100)));
    };
    response.on("drain", write);
    write();
  });
  await expect((await limited(url)).text()).rejects.toThrow("the answer is longer than 1000 bytes");
  await closed.promise;
});

test("a compressed answer counts as what it becomes", async () => {
  const body = gzipSync("x".repeat(1_000_000));
  const url = await listen((_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(body));
  const small = limitFetch({ maxBytes: 10_000 });
  expect(body.length).toBeLessThan(10_000);
  await expect((await small(url)).text()).rejects.toThrow(AnswerTooLong);
});

test.each([
  ["before its answer", (): void => {}],
  ["in the middle of its body", (write: () => void): void => write()],
])("a server that stops %s is given up after the time", async (_, begin) => {
  const url = await listen((__, response) => begin(() => response.write("x")));
  const quick = limitFetch({ maxBytes: 1000, timeoutMs: 50 });
  await expect(quick(url).then((response) => response.text())).rejects.toThrow("timeout");
});

test("the caller's own signal still ends the request", async () => {
  const own = new AbortController();
  const url = await listen((_, response) => response.write("x"));
  const response = await limitFetch({ maxBytes: 1000, timeoutMs: 60_000 })(url, { signal: own.signal });
  own.abort(new Error("stopped"));
  await expect(response.text()).rejects.toThrow("stopped");
});
