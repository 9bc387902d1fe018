import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Callback, createSecret, MCP_TOKEN, rpc, startCallback } from "./support/mcp.ts";
import { type Answer, waitFor } from "./support/client.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService } from "./support/service.ts";

type Json = Answer["body"];

let service: Service;
let callback: Callback;
let models: ModelServer;
let document: Json;
let ajv: Ajv2020;
/** Values of the path parameters, for each path that has some. */
let places: Record<string, string>;
beforeAll(async () => {
  models = await startModels();
  models.answer(() => ({ calls: [{ name: "tickets__create", arguments: {} }] }));
  service = await startService({
    config: {
      hooks: {
        path: "/in",
        mappings: [
          { id: "orders", match: { path: "orders" }, messageTemplate: "{{action}}", deliver: false, publish: true },
          { id: "yearly", schedule: { cron: "@yearly" }, messageTemplate: "{{at}}", deliver: false },
        ],
        agent: { grants: { "tickets.create": "ask" } },
      },
      agents: {
        providers: {
          broken: { kind: "command", sandbox: false, command: ["false"] },
          slow: { kind: "command", sandbox: false, command: ["sleep", "600"] },
          house: { kind: "openai-compatible", baseUrl: models.baseUrl },
        },
        defaults: { maxAttempts: 1, models: ["broken/x", "house/large", "slow/x"] },
        tools: {
          tickets: {
            kind: "http",
            baseUrl: "https://tickets.example.com",
            calls: { create: { description: "Opens a ticket.", post: "/tickets" } },
          },
        },
      },
      gateway: {
        auth: { token: GATEWAY_TOKEN },
        publicUrl: "https://hooks.example.org",
        mcp: { principals: { desk: { secret: MCP_TOKEN, events: ["*"] } }, allowHosts: ["127.0.0.1"] },
      },
    },
  });
  document = await service.api("/api/openapi.json");
  // The document's dialect is 2020-12; the payloads' formats are not its own.
  ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, "document");
  const dead = await Promise.all([sendHook("agent", { message: "a" }), sendHook("agent", { message: "b" })]);
  for (const { eventId } of dead) await service.settled(eventId);
  const waiting = await sendHook("agent", { message: "c", model: "slow/x" });
  await fetch(`${service.url}/in/wake`, { method: "POST" });
  callback = await startCallback();
  const delivery = { mode: "webhook", url: callback.url, secret: createSecret() };
  const { result } = await rpc(service.url, "events/subscribe", { name: "orders", delivery });
  const asking = await sendHook("agent", { message: "c", model: "house/large" });
  const { id: approval } = await waitFor(
    async () => (await service.api("/api/approvals?state=open")).approvals[0],
    "a question",
  );
  const recording = await fetch(`${service.url}/api/recordings`, {
    method: "POST",
    headers: { authorization: `Bearer ${GATEWAY_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ path: "unknown" }),
  }).then((response): Promise<Json> => response.json());
  await fetch(`${service.url}/in/unknown`, { method: "POST" });
  const choice = { action: "drop", filter: { hook: "unknown" } };
  const { body: bulk } = await service.operate("POST", "/api/bulk", choice);
  await service.operate("POST", "/api/bulk", { ...choice, token: bulk.token });
  const [retried, dropped] = dead.map(({ runId }) => runId);
  places = {
    "/in/{name}": "orders",
    "/in/runs/{runId}": dead[0].runId,
    "/api/events/{id}": dead[0].eventId,
    "/api/events/{id}/body": dead[0].eventId,
    "/api/events/{id}/replay": dead[0].eventId,
    "/api/mappings/{id}/source": "orders",
    "/api/sessions/{key}": dead[0].sessionKey,
    "/api/runs/{id}": asking.runId,
    "/api/approvals/{id}": approval,
    "/api/inbox/{id}": approval,
    "/api/models/{id}/try": "slow",
    "/api/tools/{id}/try": "tickets",
    "/api/runs/{id}/cancel": waiting.runId,
    "/api/mappings/{id}/run": "yearly",
    "/api/mappings/{id}/pause": "orders",
    "/api/mappings/{id}/resume": "orders",
    "/api/dead-letters/{id}/retry": retried,
    "/api/dead-letters/{id}": dropped,
    "/api/bulk/{id}": bulk.token,
    "/api/subscriptions/{id}": result.id,
    "/api/recordings/{id}": recording.id,
  };
});
afterAll(async () => {
  await service.close();
  await callback.close();
  await models.close();
});

async function sendHook(hook: string, body: object, own: Record<string, string> = {}): Promise<Json> {
  const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json", ...own };
  const response = await fetch(`${service.url}/in/${hook}`, { method: "POST", headers, body: JSON.stringify(body) });
  return response.json();
}

/** A check of the schema at this place of the document. What its schemas share is compiled once. */
function toCheck(...place: string[]): ValidateFunction {
  const pointer = place.map((key) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1")));
  return ajv.compile({ $ref: ["document#", ...pointer].join("/") });
}

const SKIPPED = ["/api/stream"];

test("is a valid OpenAPI document", async () => {
  const result = await new Validator().validate(structuredClone(document));
  expect(result.errors).toBeUndefined();
  expect(result).toMatchObject({ valid: true });
  expect(document).toMatchObject({ openapi: "3.1.0", servers: [{ url: "https://hooks.example.org" }] });
  const ids = Object.values<Json>(document.paths).flatMap((path) =>
    Object.values<Json>(path).map((op) => op.operationId),
  );
  expect(ids).toEqual([...new Set(ids)]);
});

test("every operation answers as the document says, and every example is accepted", async () => {
  const operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  expect(operations.length).toBeGreaterThan(20);
  for (const { path, method, operation } of operations) {
    if (SKIPPED.includes(path)) continue;
    const name = `${method} ${path}`;
    const token = path.startsWith("/in/") ? HOOK_TOKEN : GATEWAY_TOKEN;
    const inJson = ["content", "application/json", "schema"];
    const body = operation.requestBody?.content["application/json"];
    const example = path === "/api/session" && body ? { token: GATEWAY_TOKEN } : body?.example;
    if (body) expect([name, toCheck("paths", path, method, "requestBody", ...inJson)(example)]).toEqual([name, true]);
    const response = await fetch(service.url + path.replace(/\{\w+\}/, () => encodeURIComponent(places[path] ?? "")), {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body ? JSON.stringify(example) : undefined,
    });
    const answer = operation.responses[response.status];
    // The hook decides what a replay answers. There is no sender to catch up with, no mailbox, no suspended subscription, and this is
    // not `dev`.
    if (!/\/(?:replay|catch-up)$|^put |mailboxes|subscriptions.*retry/.test(name))
      expect([name, response.status, answer !== undefined]).toEqual([name, response.status, true]);
    const [type = ""] = Object.keys(answer?.content ?? {});
    expect([name, response.headers.get("content-type") ?? ""]).toEqual([name, expect.stringContaining(type)]);
    const text = await response.text();
    if (type !== "application/json") continue;
    const check = toCheck("paths", path, method, "responses", String(response.status), ...inJson);
    expect([name, check(JSON.parse(text)), check.errors]).toEqual([name, true, null]);
  }
});

test("a sender can look for its run, and wait for one that fails", async () => {
  expect(document.paths).toHaveProperty(["/in/runs/{runId}", "get"]);
  const answer = await sendHook("agent", { message: "a" }, { prefer: "wait=60" });
  expect(answer).toMatchObject({ ok: false, status: "failed" });
  const check = toCheck("paths", "/in/agent", "post", "responses", "200", "content", "application/json", "schema");
  expect([check(answer), check.errors]).toEqual([true, null]);
});

test("a refusal is the document's error", async () => {
  const response = await fetch(`${service.url}/api/events?limit=none`, {
    headers: { authorization: `Bearer ${GATEWAY_TOKEN}` },
  });
  const check = toCheck("components", "schemas", "Error");
  expect([response.status, check(await response.json()), check.errors]).toEqual([400, true, null]);
});
