import { describe, expect, test } from "vitest";
import { Readable } from "node:stream";
import { HookError } from "../../src/core/errors.ts";
import { json } from "../../src/core/ingress/router.ts";
import { TRANSPORTS, expectRefusal, startIngress } from "../support/ingress.ts";
import { openRaw } from "../support/raw.ts";

const GET = { method: "GET" };

const ROUTES: Parameters<typeof startIngress>[1] = {
  routes: {
    "GET /healthz": () => json({ ok: true }),
    "GET /hooks/mine": () => json({ mine: true }),
    "POST /api/echo": async ({ readJson }) => json({ body: await readJson() }),
    "GET /api/fails": () => Promise.reject(new Error("secret")),
    "GET /api/refuses": () => Promise.reject(new HookError("unauthorized")),
    "GET /api/items/:id/:rest*": ({ params, query }) => json({ ...params, query: query.toString() }),
    "GET /api/lines": () => ({
      status: 200,
      headers: { "Content-Type": "text/plain" },
      body: Readable.from(["a\n", "b"]),
    }),
  },
};

describe.each(TRANSPORTS)("through the %s, routes", (transport) => {
  test("come before hooks", async () => {
    const { send } = await startIngress(transport, ROUTES);
    expect(await (await send("/healthz", GET)).json()).toEqual({ ok: true });
    expect(await (await send("/hooks/mine", GET)).json()).toEqual({ mine: true });
    expect(await (await send("/hooks/mine", { body: "{}" })).json()).toMatchObject({ hook: "mine" });
  });

  test("answer another method with those they have", async () => {
    const { send } = await startIngress(transport, ROUTES);
    const response = await send("/healthz", { body: "{}" });
    expect(response.headers.get("allow")).toBe("GET");
    await expectRefusal(response, 405, "method_not_allowed");
    await expectRefusal(await send("/elsewhere", { body: "{}" }), 404, "not_found");
  });

  test("get decoded parameters and the query", async () => {
    const { send } = await startIngress(transport, ROUTES);
    const parameters = async (path: string) => (await send(path, GET)).json();
    expect(await parameters("/api/items/a%2Fb/c%20d/e?x=1&x=2")).toEqual({
      id: "a/b",
      rest: "c d/e",
      query: "x=1&x=2",
    });
    expect(await parameters("/api/items/a")).toEqual({ id: "a", rest: "", query: "" });
    for (const path of ["/api/items", "/api/items/", "/api/items/%zz"]) {
      await expectRefusal(await send(path, GET), 404, "not_found");
    }
  });

  test("answer HEAD like GET, without the body", async () => {
    const { send } = await startIngress(transport, ROUTES);
    const response = await send("/healthz", { method: "HEAD" });
    expect([response.status, response.headers.get("content-length"), await response.text()]).toEqual([200, "11", ""]);
  });

  test("read JSON bodies", async () => {
    const { send } = await startIngress(transport, ROUTES);
    const echo = (body: string, type = "application/json") =>
      send("/api/echo", { headers: { "content-type": type }, body });
    expect(await (await echo('{"text":"hello"}')).json()).toEqual({ body: { text: "hello" } });
    expect(await (await echo("")).json()).toEqual({});
    await expectRefusal(await echo("{"), 400, "invalid_json");
    await expectRefusal(await echo("a=1", "application/x-www-form-urlencoded"), 415, "unsupported_media_type");
    await expectRefusal(await echo(`"${"x".repeat(1024 * 1024)}"`), 413, "body_too_large");
  });

  test("stream their answers", async () => {
    const { send } = await startIngress(transport, ROUTES);
    const response = await send("/api/lines", GET);
    expect([response.headers.get("content-type"), await response.text()]).toEqual(["text/plain", "a\nb"]);
  });

  test("fail in the same shape as hooks", async () => {
    const { send, log } = await startIngress(transport, ROUTES);
    await expectRefusal(await send("/api/refuses", GET), 401, "unauthorized");
    await expectRefusal(await send("/api/fails", GET), 500, "internal_error");
    expect(log).toMatchObject([{ level: "error", fields: { error: expect.stringContaining("secret") } }]);
  });
});

test("a client that asks first may send its body to a route", async () => {
  const { port } = await startIngress("socket", ROUTES);
  const connection = openRaw(port);
  connection.write("POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n");
  connection.write("Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  await connection.reads("100 Continue");
  connection.write("[]");
  expect(await connection.reads("[]")).toContain("200 OK");
});
