import { describe, expect, test } from "vitest";
import { HookError } from "../../src/errors.ts";
import { DOORS, expectRefusal, startIngress } from "../support/ingress.ts";
import { openRaw } from "../support/raw.ts";

const JSON_TYPE = { "content-type": "application/json" };
const GET = { method: "GET" };

const ROUTES: Parameters<typeof startIngress>[1] = {
  register(app) {
    app.get("/healthz", () => ({ ok: true }));
    app.get("/hooks/mine", () => ({ mine: true }));
    app.post("/api/echo", (request) => request.body);
    app.get("/api/fails", () => Promise.reject(new Error("secret")));
    app.get("/api/refuses", () => Promise.reject(new HookError("unauthorized")));
    app.get("/api/cookies", (_request, reply) => reply.header("set-cookie", ["a=1", "b=2"]).send({}));
  },
};

describe.each(DOORS)("through the %s, the operator's routes", (door) => {
  test("come before hooks", async () => {
    const { send } = await startIngress(door, ROUTES);
    expect(await (await send("/healthz", GET)).json()).toEqual({ ok: true });
    expect(await (await send("/hooks/mine", GET)).json()).toEqual({ mine: true });
    expect((await send("/hooks/mine", { body: "{}" })).status).toBe(200);
    await expectRefusal(await send("/healthz", { body: "{}" }), 404, "not_found");
  });

  test("have their bodies parsed", async () => {
    const { send } = await startIngress(door, ROUTES);
    const response = await send("/api/echo", { headers: JSON_TYPE, body: '{"text":"hello"}' });
    expect(await response.json()).toEqual({ text: "hello" });
  });

  test("set what headers they like", async () => {
    const { send } = await startIngress(door, ROUTES);
    expect((await send("/api/cookies", GET)).headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  });

  test("fail in the same shape as hooks", async () => {
    const { send, log } = await startIngress(door, ROUTES);
    await expectRefusal(await send("/api/refuses", GET), 401, "unauthorized");
    await expectRefusal(await send("/api/fails", GET), 500, "internal_error");
    await expectRefusal(await send("/api/echo", { headers: JSON_TYPE, body: "{" }), 400, "bad_request");
    expect(log).toMatchObject([{ level: "error", fields: { error: expect.stringContaining("secret") } }]);
  });
});

test("a client that asks first may send its body to the operator's routes", async () => {
  const { port } = await startIngress("socket", ROUTES);
  const connection = openRaw(port);
  connection.write("POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n");
  connection.write("Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  await connection.reads("100 Continue");
  connection.write("[]");
  expect(await connection.reads("[]")).toContain("200 OK");
});
