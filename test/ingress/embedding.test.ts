import { once } from "node:events";
import http, { type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import http2 from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { createGate } from "../support/gate.ts";
import { BEARER, expectRefusal, type Ingress, startIngress } from "../support/ingress.ts";
import * as fc from "../support/property.ts";
import { openRaw, parseAnswers, rawHead } from "../support/raw.ts";

const JSON_BODY = JSON.stringify({ text: "hello" });

/** Another program's server. An error that nobody catches fails the run of the tests. */
async function startHost(server: Server): Promise<{ url: string; port: number }> {
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port };
}

function startHttp(listener: RequestListener): Promise<{ url: string; port: number }> {
  return startHost(http.createServer(listener));
}

test("no body of a host's stream ends the host: refused, cut off, in any pieces", async () => {
  const { server } = await startIngress("process");
  const { port } = await startHttp((req, res) => void answer(req, res));
  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = Readable.toWeb(req) as ReadableStream;
    const headers = { "content-type": "application/json", authorization: req.headers.authorization ?? "" };
    const request = new Request(`http://host.test${req.url}`, { method: "POST", headers, body, duplex: "half" });
    const response = await server.handle(request).catch(() => undefined);
    if (!response) return void res.destroy();
    res.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  }
  /** The status; undefined: the client went away before the end of its body. */
  async function post({ pieces, isKnown, isCut }: Post): Promise<number | undefined> {
    const headers = isKnown ? BEARER : {};
    const sent = http.request({ port, path: "/hooks/any", method: "POST", headers });
    const answered = once(sent, "response") as Promise<[IncomingMessage]>;
    for (const piece of pieces) sent.write(piece);
    if (isCut) {
      sent.on("error", () => {}).destroy();
      return void (await answered.catch(() => undefined));
    }
    sent.end();
    const [response] = await answered;
    await text(response);
    return response.statusCode;
  }
  for (const sizes of [[2], [1, 1, 1], [60_000], [200_000], [30_000, 1, 90_000, 5], [3_000_000]]) {
    const pieces = sizes.map((size) => Buffer.alloc(size, "x"));
    expect(await post({ pieces, isKnown: false, isCut: false })).toBe(401);
  }
  const piece = fc.oneof(
    fc.json().map((json) => Buffer.from(json)),
    fc.uint8Array({ maxLength: 3000 }),
  );
  const posts = fc.record({ pieces: fc.array(piece, { maxLength: 4 }), isKnown: fc.boolean(), isCut: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(posts, async (given) => {
      const status = await post({ ...given, pieces: given.pieces.filter(({ length }) => length > 0) });
      expect(given.isCut ? [undefined] : given.isKnown ? [200, 400] : [401, 429]).toContain(status);
    }),
  );
  expect(await post({ pieces: [Buffer.from(JSON_BODY)], isKnown: true, isCut: false })).toBe(200);
});

interface Post {
  pieces: Uint8Array[];
  isKnown: boolean;
  isCut: boolean;
}

test("a body that was read before is refused, and the log says why", async () => {
  const { server, received, log } = await startIngress("process");
  const request = new Request("http://host.test/hooks/any", { method: "POST", body: JSON_BODY, headers: BEARER });
  await request.text();
  await expectRefusal(await server.handle(request), 500, "internal_error");
  expect(received).toEqual([]);
  expect(JSON.stringify(log)).toContain("The body was read before Hookline got the request. Put Hookline before");
});

test("a program names the client of its request, and is not the service itself", async () => {
  const { server, received } = await startIngress("process", { trustedProxies: ["192.0.2.1"] });
  const { server: worker } = await startIngress("process", { role: "worker" });
  const post = (to: Ingress["server"], options?: { client?: string; isOwn?: boolean }) =>
    to.handle(
      new Request("http://host.test/hooks/any", {
        method: "POST",
        body: JSON_BODY,
        headers: { ...BEARER, "x-forwarded-for": "198.51.100.7" },
      }),
      options,
    );
  await post(server);
  await post(server, { client: "203.0.113.9" });
  await post(server, { client: "192.0.2.1" });
  expect(received.map(({ client }) => client)).toEqual(["127.0.0.1", "203.0.113.9", "198.51.100.7"]);
  expect([(await post(worker)).status, (await post(worker, { isOwn: true })).status]).toEqual([404, 200]);
});

test("nodeHandler alone is the whole service, and with next only what is below the hooks' path", async () => {
  const { server, received } = await startIngress("process", {
    routes: { "GET /healthz": () => ({ status: 200, headers: {}, body: { ok: true } }) },
  });
  const { nodeHandler } = server;
  const alone = await startHttp((req, res) => void nodeHandler(req, res));
  const beside = await startHttp((req, res) => void nodeHandler(req, res, () => res.writeHead(299).end("host")));
  const ask = async (url: string, method: string, headers: Record<string, string> = BEARER) => {
    const answer = await fetch(url, { method, headers, ...(method === "POST" && { body: JSON_BODY }) });
    return [answer.status, (await answer.text()).slice(0, 4)];
  };
  expect(await ask(`${alone.url}/healthz`, "GET")).toEqual([200, '{"ok']);
  expect(await ask(`${alone.url}/healthz`, "HEAD")).toEqual([200, ""]);
  expect(await ask(`${alone.url}/other`, "GET")).toEqual([404, '{"ok']);
  expect(await ask(`${alone.url}/hooks/any?a=1`, "POST")).toEqual([200, '{"ok']);
  expect(await ask(`${beside.url}/hooks/any`, "POST")).toEqual([200, '{"ok']);
  expect(await ask(`${beside.url}/hooks`, "POST")).toEqual([404, '{"ok']);
  expect(await ask(`${beside.url}/hooks/any`, "HEAD")).toEqual([405, ""]);
  expect(await ask(`${beside.url}/hooks/any`, "POST", {})).toEqual([401, '{"ok']);
  for (const path of ["/healthz", "/", "/hooksx", "/api/status"]) {
    expect(await ask(beside.url + path, "POST")).toEqual([299, "host"]);
  }
  expect(received.map(({ client, query }) => [client, query])).toEqual([
    ["127.0.0.1", { a: "1" }],
    ["127.0.0.1", {}],
  ]);
});

test("nodeHandler takes the target and the bytes that a framework keeps", async () => {
  const { server, received, log } = await startIngress("process");
  const { url } = await startHttp((req: IncomingMessage & { originalUrl?: string; rawBody?: unknown }, res) => {
    void readFirst(req).then(() => server.nodeHandler(req, res, () => res.writeHead(299).end()));
  });
  async function readFirst(req: IncomingMessage & { originalUrl?: string; rawBody?: unknown }): Promise<void> {
    // Express cuts off the path that a handler is mounted under.
    req.originalUrl = req.url;
    req.url = "/any";
    if (req.headers["x-read"] === "no") return;
    const bytes = await buffer(req);
    if (req.headers["x-read"] === "raw") req.rawBody = bytes;
    if (req.headers["x-read"] === "text") req.rawBody = bytes.toString();
  }
  const post = (read: string, body = JSON_BODY) =>
    fetch(`${url}/hooks/any`, { method: "POST", headers: { ...BEARER, "x-read": read }, body });
  expect([(await post("no")).status, (await post("raw")).status]).toEqual([200, 200]);
  expect(received.map(({ payload, path }) => [path, payload])).toEqual(
    Array.from({ length: 2 }, () => ["/hooks/any", { text: "hello" }]),
  );
  expect((await post("raw", `"${"x".repeat(10_000)}"`)).status).toBe(413);
  expect(log).toEqual([]);
  for (const read of ["parsed", "text"]) await expectRefusal(await post(read), 500, "internal_error");
  expect(log).toHaveLength(2);
  expect(JSON.stringify(log[0])).toContain("The body was read before Hookline got the request. Put Hookline before");
});

test.each([
  ["a host that leaves 100 Continue to Node", "request"],
  ["a host that leaves it to its handler", "checkContinue"],
])("%s: it is sent once", async (_what, event) => {
  const { server } = await startIngress("process");
  const host = http.createServer().on(event, (req: IncomingMessage, res: ServerResponse) => {
    void server.nodeHandler(req, res);
  });
  const { port } = await startHost(host);
  const client = openRaw(port);
  client.write(rawHead("/hooks/any", "Content-Length: 2", "Expect: 100-continue", "Connection: close"));
  await client.reads("100 Continue");
  client.write("{}");
  expect(parseAnswers(await client.closed)).toMatchObject([{ status: 100 }, { status: 200 }]);
});

test("a client that goes away in its body leaves no trace, and its host goes on", async () => {
  const { server, received, log } = await startIngress("process");
  const [arrived, gone] = [createGate(), createGate()];
  const { url, port } = await startHttp((req, res) => {
    arrived.open();
    void server.nodeHandler(req, res).then(gone.open);
  });
  const client = openRaw(port);
  client.write(rawHead("/hooks/any", "Content-Length: 20"), "{");
  await arrived.passed;
  client.socket.destroy();
  await gone.passed;
  expect([received, log]).toEqual([[], []]);
  expect((await fetch(`${url}/hooks/any`, { method: "POST", headers: BEARER, body: "{}" })).status).toBe(200);
});

test("HTTP/2 is refused", async () => {
  const { server, received } = await startIngress("process");
  const handle = server.nodeHandler as unknown as (
    req: http2.Http2ServerRequest,
    res: http2.Http2ServerResponse,
  ) => void;
  const { url } = await startHost(http2.createServer((req, res) => handle(req, res)));
  const session = http2.connect(url);
  const stream = session.request({ ":method": "POST", ":path": "/hooks/any", ...BEARER });
  stream.end(JSON_BODY);
  const [headers] = (await once(stream, "response")) as [http2.IncomingHttpHeaders];
  expect([headers[":status"], JSON.parse(await text(stream))]).toMatchObject([400, { code: "bad_request" }]);
  session.close();
  expect(received).toEqual([]);
});
