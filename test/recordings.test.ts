/** Requests to an unknown hook, kept for an operator who asked for it. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startWebhooks } from "./support/cli.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService } from "./support/service.ts";

let service: Service;
beforeEach(async () => {
  service = await startService({
    config: { hooks: { mappings: [{ match: { path: "known" }, messageTemplate: "x" }] } },
  });
});
afterEach(() => service.close());

async function start(body: object): Promise<Response> {
  const headers = { authorization: `Bearer ${GATEWAY_TOKEN}`, "content-type": "application/json" };
  return fetch(`${service.url}/api/recordings`, { method: "POST", headers, body: JSON.stringify(body) });
}

async function startId(hook: string): Promise<string> {
  const response = await start({ path: hook });
  expect(response.status).toBe(200);
  const { id }: { id: string } = JSON.parse(await response.text());
  return id;
}

async function post(hook: string, init: RequestInit = {}): Promise<number> {
  return (await fetch(`${service.url}/hooks/${hook}`, { method: "POST", ...init })).status;
}

const JSON_TYPE = { "content-type": "application/json" };

test("keeps the requests of exactly one path with their answers, and dispatches nothing", async () => {
  const id = await startId("/hooks/shop/orders");
  const body = JSON.stringify({ order: 12345678901234567890n.toString(), items: [1] });
  expect(await post("shop/orders", { headers: { ...JSON_TYPE, "x-shop-signature": "s3cret" }, body })).toBe(401);
  expect(await post("shop/orders/", { headers: { authorization: "Bearer guessed-by-someone" }, body })).toBe(401);
  const zipped = { ...JSON_TYPE, authorization: `Bearer ${HOOK_TOKEN}`, "content-encoding": "gzip" };
  expect(await post("shop/orders", { headers: zipped, body: gzipSync(body) })).toBe(404);
  expect(await post("shop/orders?challenge=7", { method: "GET" })).toBe(405);
  for (const other of ["shop", "shop/orders/x", "Shop/orders"]) await post(other, { headers: JSON_TYPE, body });

  const { requests, hook } = await service.api(`/api/recordings/${id}`);
  expect(hook).toBe("shop/orders");
  expect(requests.map(({ answer, size }: { answer: number; size: number }) => [answer, size])).toEqual([
    [401, body.length],
    [401, body.length],
    [404, body.length],
    [405, 0],
  ]);
  expect(requests[0].request).toMatchObject({
    method: "POST",
    path: "/hooks/shop/orders",
    contentType: "application/json",
    payload: JSON.parse(body),
    headers: { "x-shop-signature": "[redacted]", "content-type": "application/json" },
  });
  expect(requests[1].request.headers.authorization).toBe("[redacted]");
  expect(requests[3].request).toMatchObject({ method: "GET", query: { challenge: "7" } });
  expect(JSON.stringify(requests)).not.toMatch(/s3cret|guessed/);
  expect((await service.api("/api/events")).events).toEqual([]);
  expect((await service.api("/api/recordings")).recordings).toMatchObject([{ id, hook: "shop/orders", requests: 4 }]);
});

test("keeps at most 20 requests, and no body over 256 KB", async () => {
  const id = await startId("big");
  expect(await post("big", { headers: JSON_TYPE, body: JSON.stringify("x".repeat(300_000)) })).toBe(401);
  for (let n = 0; n < 24; n++) await post("big", { headers: JSON_TYPE, body: String(n) });
  const { requests } = await service.api(`/api/recordings/${id}`);
  expect(requests).toHaveLength(20);
  expect(requests[0]).toMatchObject({ size: 300_002, request: { payload: "" } });
  expect(requests.slice(1).map(({ request }: { request: { payload: number } }) => request.payload)).toEqual(
    Array.from({ length: 19 }, (_, n) => n),
  );
});

test("survives a restart, and is gone with its requests once it is deleted", async () => {
  const id = await startId("later");
  await post("later", { headers: JSON_TYPE, body: "1" });
  service = await service.restart();
  await post("later", { headers: JSON_TYPE, body: "2" });
  expect((await service.api(`/api/recordings/${id}`)).requests).toHaveLength(2);
  const headers = { authorization: `Bearer ${GATEWAY_TOKEN}` };
  const remove = () => fetch(`${service.url}/api/recordings/${id}`, { method: "DELETE", headers });
  expect((await remove()).status).toBe(200);
  expect((await remove()).status).toBe(404);
  await post("later", { headers: JSON_TYPE, body: "3" });
  expect(await service.api("/api/recordings")).toEqual({ recordings: [] });
});

test("what has a mapping or cannot be a hook is not recorded, and only an operator can ask", async () => {
  for (const hook of ["known", "wake", "/hooks/agent", "", "../etc", "a//b", 7]) {
    expect({ hook, status: (await start({ path: hook })).status }).toEqual({ hook, status: 400 });
  }
  const stranger = await fetch(`${service.url}/api/recordings`, {
    method: "POST",
    headers: JSON_TYPE,
    body: '{"path":"x"}',
  });
  expect(stranger.status).toBe(401);
  for (let n = 0; n < 10; n++) await startId(`hook-${n}`);
  expect((await start({ path: "one-more" })).status).toBe(409);
});

test("a body with secrets that the configuration names is not kept", async () => {
  await service.reload({ hooks: { redact: ["$.password"] } });
  const id = await startId("private");
  await post("private", { headers: JSON_TYPE, body: '{"password":"hunter2"}' });
  const recording = await service.api(`/api/recordings/${id}`);
  expect(recording.requests).toHaveLength(1);
  expect(JSON.stringify(recording)).not.toContain("hunter2");
});

test("webhooks record shows them, and writes their payloads", async () => {
  const command = ["record", "shop", "--to", "recorded", "--url", service.url];
  const running = startWebhooks(service.folder, command);
  await expect.poll(running.stdout).toContain(`Recording ${service.url}/hooks/shop until `);
  await post("shop", { headers: JSON_TYPE, body: '{"order":7}' });
  await expect.poll(running.stdout).toContain('"order": 7');
  running.stop();
  expect(await running.ended).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`webhooks transform new shop --sample ${path.join("recorded", "1.json")}`),
  });
  expect(JSON.parse(readFileSync(path.join(service.folder, "recorded/1.json"), "utf8"))).toEqual({ order: 7 });
});
