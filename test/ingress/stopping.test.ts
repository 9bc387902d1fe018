import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { TRANSPORTS, startIngress } from "../support/ingress.ts";
import { createGate } from "../support/gate.ts";
import { openRaw, parseAnswers, rawHead } from "../support/raw.ts";

const JSON_BODY = JSON.stringify({ text: "hello" });

test.each(TRANSPORTS)("closing finishes requests in flight through the %s, and refuses new ones", async (transport) => {
  const gate = createGate();
  const { server, send, received } = await startIngress(transport, {
    async receive(request) {
      received.push(request);
      await gate.passed;
      return { status: 200, headers: {}, body: { ok: true } };
    },
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

  gate.open();
  expect((await answer).status).toBe(200);
  await closing;
  expect(received).toHaveLength(1);
});

test("closing waits for a limited time", async () => {
  const arrived = createGate();
  const { server, send } = await startIngress("socket", {
    drainMs: 50,
    receive() {
      arrived.open();
      return new Promise(() => {});
    },
  });
  const answer = send("/hooks/wake", { body: JSON_BODY }).catch(() => "cut off");
  await arrived.passed;
  await server.close();
  expect(await answer).toBe("cut off");
});

test("closing answers new requests on open connections with 503, and ends idle ones", async () => {
  const [arrived, gate] = [createGate(), createGate()];
  const { server, port } = await startIngress("socket", {
    async receive() {
      arrived.open();
      await gate.passed;
      return { status: 200, headers: {}, body: {} };
    },
  });
  const silent = openRaw(port);
  const late = openRaw(port);
  late.write("POST /hooks/a HTTP/1.1\r\n");
  const uploading = openRaw(port);
  uploading.write(rawHead("/hooks/a", "Content-Length: 2", "Expect: 100-continue"));
  await uploading.reads("100 Continue");
  uploading.write("{");
  // Once this is answered, the data written before has arrived.
  const idle = openRaw(port);
  idle.write(rawHead("/nothing", "Content-Length: 0"));
  await idle.reads("404");

  const closing = server.close();
  idle.write(rawHead("/hooks/a", "Content-Length: 0"));
  expect(parseAnswers(await idle.closed)).toMatchObject([{ status: 404 }, { status: 503 }]);
  late.write(rawHead("/hooks/a", "Content-Length: 2").split("\r\n").slice(1).join("\r\n"), "{}");
  const [refusal] = parseAnswers(await late.closed);
  expect(refusal).toMatchObject({ status: 503, body: { code: "draining" } });

  uploading.write("}");
  await arrived.passed;
  gate.open();
  const answer = await uploading.closed;
  expect(answer).toMatch(/^HTTP\/1\.1 200 /m);
  expect(answer).toMatch(/^connection: close/im);
  await closing;
  await silent.closed;
});

test("a connection that is opened while closing gets 503, on every route but /healthz", async () => {
  const [arrived, gate] = [createGate(), createGate()];
  const { server, send } = await startIngress("socket", {
    routes: {
      "GET /healthz": () => ({ status: 200, headers: {} }),
      "GET /readyz": () => ({ status: 200, headers: {} }),
    },
    async receive() {
      arrived.open();
      await gate.passed;
      return { status: 200, headers: {}, body: {} };
    },
  });
  const answer = send("/hooks/a", { body: JSON_BODY });
  await arrived.passed;
  const closing = server.close();
  for (const late of [send("/hooks/a", { body: JSON_BODY }), send("/readyz", { method: "GET" })]) {
    const { status, headers } = await late;
    expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
  }
  expect((await send("/healthz", { method: "GET" })).status).toBe(200);
  gate.open();
  expect((await answer).status).toBe(200);
  await closing;
  await expect(send("/hooks/a", { body: JSON_BODY })).rejects.toThrow("fetch failed");
});
