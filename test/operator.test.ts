import { createHmac } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import type { Answer } from "./support/client.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService } from "./support/service.ts";

const SECRET = "a-secret-of-the-sender-0123456789";

let service: Service;
afterEach(() => service.close());

function expectApiHeaders({ headers }: Response) {
  expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual(["no-store", "nosniff"]);
}

test("a skipped event is shown with its name and the reason", async () => {
  const ignore = [{ value: "{{sender.type}}", is: "Bot", reason: "a bot sent it" }];
  const mapping = { match: { path: "forge" }, event: "{{kind}}", ignore, messageTemplate: "x" };
  service = await startService({ config: { hooks: { mappings: [mapping] } } });
  expect((await service.post("forge", { kind: "push", sender: { type: "bot" } })).status).toBe(204);
  const { events } = await service.api("/api/events");
  expect(events).toMatchObject([{ event: "push", status: "skipped", reason: "a bot sent it (bot)" }]);
});

test.each([
  { hook: "signed", job: "lint", status: "done" },
  { hook: "ci", job: "lint", status: "done" },
  { hook: "ci", job: "", status: "failed" },
])("the times of a request's steps are shown: $hook, $status", async ({ hook, job, status }) => {
  const transform = { module: "ci.ts" };
  const mappings = [
    { match: { path: "ci" }, transform, deliver: false },
    { match: { path: "signed" }, auth: { scheme: "github", secret: SECRET }, transform, deliver: false } as const,
  ];
  const code = "export default ({ payload }) => ({ message: `job ${payload.job.at(0).toUpperCase()}` });";
  service = await startService({ config: { hooks: { mappings } }, files: { "transforms/ci.ts": code } });
  const body = JSON.stringify({ job });
  const signature = `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
  const headers = { "content-type": "application/json", "x-hub-signature-256": signature };
  if (hook === "signed") await fetch(`${service.url}/hooks/${hook}`, { method: "POST", headers, body });
  else await service.post(hook, { job });
  const [event] = (await service.api("/api/events")).events;
  await service.settled(event.id);
  const { took, ...shown } = await service.api(`/api/events/${event.id}`);
  expect(shown.status).toBe(status);
  const steps = ["receiveMs", "verifyMs", "mappingMs", ...(status === "done" ? ["transformMs"] : [])];
  expect(Object.keys(took)).toEqual(steps);
  for (const ms of Object.values(took)) expect(ms).toBeGreaterThanOrEqual(0);
});

describe("access", () => {
  test.each([undefined, `Bearer ${HOOK_TOKEN}`, "Bearer nonsense", "Basic abc"])(
    "is refused with %s",
    async (authorization) => {
      service = await startService();
      for (const path of ["/api/status", "/api/events", "/api/sessions/main", "/api/nothing", "/api"]) {
        const response = await fetch(service.url + path, { headers: authorization ? { authorization } : {} });
        expect(response.status).toBe(401);
        expect(response.headers.get("www-authenticate")).toBe("Bearer");
        expectApiHeaders(response);
        expect(await response.json()).toMatchObject({
          ok: false,
          code: "unauthorized",
          requestId: expect.any(String),
        });
      }
    },
  );

  test("is limited for a client that guesses; the valid token always passes and resets the count", async () => {
    service = await startService();
    const ask = (token: string) =>
      fetch(`${service.url}/api/status`, { headers: { authorization: `Bearer ${token}` } });
    for (let count = 0; count < 20; count += 1) expect((await ask(`guess ${count}`)).status).toBe(401);
    const refused = await ask("another guess");
    expect([refused.status, await refused.json()]).toMatchObject([429, { code: "too_many_failures" }]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);

    // The hook token neither resets the count nor is affected by it.
    expect((await service.post("wake", { text: "x" })).status).toBe(200);
    expect((await ask("another guess")).status).toBe(429);
    expect((await ask(GATEWAY_TOKEN)).status).toBe(200);
    expect((await ask("another guess")).status).toBe(401);
  });

  test("unknown paths are not found", async () => {
    service = await startService();
    const headers = { authorization: `Bearer ${GATEWAY_TOKEN}` };
    for (const [method, path] of [
      ["GET", "/api/nothing"],
      ["GET", "/api"],
    ] as const) {
      const response = await fetch(service.url + path, { method, headers });
      expectApiHeaders(response);
      expect([response.status, await response.json()]).toMatchObject([404, { ok: false, code: "not_found" }]);
    }
  });

  test("a path with another method is answered with the methods it has", async () => {
    service = await startService();
    const headers = { authorization: `Bearer ${GATEWAY_TOKEN}` };
    for (const [method, path, allow] of [
      ["PUT", "/api/status", "GET"],
      ["POST", "/api/dead-letters/x", "DELETE"],
      ["GET", "/api/try", "POST"],
    ] as const) {
      const response = await fetch(service.url + path, { method, headers });
      expect([response.status, response.headers.get("allow")]).toEqual([405, allow]);
      expectApiHeaders(response);
    }
  });

  test("the API is off without a gateway token", async () => {
    service = await startService({ config: { gateway: { auth: {} } } });
    const response = await fetch(`${service.url}/api/status`, { headers: { authorization: "Bearer " } });
    expect(response.status).toBe(404);
  });

  test("health and readiness need no token and reveal nothing else", async () => {
    service = await startService();
    for (const path of ["/healthz", "/readyz"]) {
      const response = await fetch(service.url + path);
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ ok: true });
    }
  });
});

test("the timeline of an event contains no secret", async () => {
  service = await startService();
  const { body } = await service.post(
    "wake?token=in-the-query",
    { text: "x" },
    { "x-hub-signature": "s3cret", cookie: "c=1" },
  );
  const event = await service.api(`/api/events/${body.eventId}`);
  expect(event.request).toMatchObject({ method: "POST", path: "/hooks/wake", payload: { text: "x" } });
  const text = JSON.stringify(event);
  for (const secret of [HOOK_TOKEN, "in-the-query", "s3cret", "c=1"]) expect(text).not.toContain(secret);
});

test("events are found by mapping, by session and by a text of the row or the body, page by page", async () => {
  const mappings = ["a", "b"].map((path) => ({
    id: `of-${path}`,
    match: { path },
    messageTemplate: "{{t}}",
    deliver: false,
  }));
  service = await startService({ config: { hooks: { mappings } } });
  const posted: Answer["body"][] = [];
  for (const [path, t] of [
    ["a", "Apple"],
    ["b", "pear"],
    ["a", "Quince"],
  ] as const) {
    posted.push((await service.post(path, { t })).body);
  }
  for (const { eventId } of posted) await service.settled(eventId);
  const [apple, pear, quince] = posted.map(({ eventId }) => eventId);
  const find = async (query: string): Promise<string[]> =>
    (await service.api(`/api/events?${query}`)).events.map(({ id }: { id: string }) => id);
  expect(await find("mapping=of-a")).toEqual([quince, apple]);
  expect(await find("q=APPLE")).toEqual([apple]);
  expect(await find("q=of-b")).toEqual([pear]);
  expect(await find("q=nothing")).toEqual([]);
  expect(await find("mapping=of-a&q=pear")).toEqual([]);
  expect(await find(`session=${encodeURIComponent(posted[1].sessionKey)}`)).toEqual([pear]);
  const first = await service.api("/api/events?mapping=of-a&limit=1");
  expect(first).toMatchObject({ events: [{ id: quince }], more: quince });
  expect(await find(`mapping=of-a&limit=1&before=${first.more}`)).toEqual([apple]);
});

test("events are listed newest first, in pages, by hook and by status", async () => {
  service = await startService({
    config: { hooks: { mappings: [{ match: { path: "m" }, messageTemplate: "{{t}}" }] } },
  });
  for (const text of ["a", "b", "c"]) await service.post("wake", { text, mode: "next-heartbeat" });
  await service.post("m", {});
  const { events } = await service.api("/api/events?hook=wake&limit=2");
  expect(events).toHaveLength(2);
  expect(events[0].id > events[1].id).toBe(true);
  const older = await service.api(`/api/events?hook=wake&before=${events[1].id}`);
  expect(older.events).toHaveLength(1);
  expect((await service.api("/api/events?status=rejected")).events).toMatchObject([{ hook: "m", status: "rejected" }]);
  const bad = await fetch(`${service.url}/api/events?limit=none`, {
    headers: { authorization: `Bearer ${GATEWAY_TOKEN}` },
  });
  expect(bad.status).toBe(400);
});

test.each([
  ["/api/events?hok=wake", 'Unknown parameter "hok"; did you mean "hook"?'],
  ["/api/events/export?untill=2026-01-01", 'Unknown parameter "untill"; did you mean "until"?'],
  ["/api/sessions?lmit=3", 'Unknown parameter "lmit"; did you mean "limit"?'],
  ["/api/sessions/main?before=3", 'Unknown parameter "before"; known here: limit, after.'],
  ["/api/runs?sate=dead", 'Unknown parameter "sate"; did you mean "state"?'],
  ["/api/deliveries?page=2", 'Unknown parameter "page"; known here: limit, before, state.'],
  ["/api/dead-letters?limit=1&beforr=x", 'Unknown parameter "beforr"; did you mean "before"?'],
])("an unknown parameter is refused: %s", async (path, error) => {
  service = await startService();
  const headers = { authorization: `Bearer ${GATEWAY_TOKEN}` };
  const response = await fetch(service.url + path, { headers });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ ok: false, code: "invalid_query", error });
});

test("status names version, generation and queue", async () => {
  service = await startService();
  expectApiHeaders(await fetch(`${service.url}/api/status`, { headers: { authorization: `Bearer ${GATEWAY_TOKEN}` } }));
  expect(await service.api("/api/status")).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    config: { generation: 1, at: expect.stringMatching(/^\d{4}-.*Z$/) },
    lastReloadError: null,
    sandbox: { ready: true },
    queue: { pendingRuns: 0 },
  });
  await service.hookline.reload();
  expect((await service.api("/api/status")).config.generation).toBe(2);
});

describe("a dry run", () => {
  const files = {
    "transforms/t.ts": [
      "export default ({ payload, headers }: { payload: any; headers: any }) => {",
      '  console.warn("saw", payload.n);',
      '  if (payload.n > 1) throw new Error("too many: " + payload.n);',
      '  return { message: `${payload.n} ${headers["x-kind"]}` };',
      "};",
    ].join("\n"),
  };
  const config = { hooks: { mappings: [{ id: "t", match: { path: "t" }, transform: { module: "t.ts" } }] } };

  test("shows the actions, the log and the time, and records nothing", async () => {
    service = await startService({ config, files });
    expect(await trial({ hook: "t", payload: { n: 1 }, headers: { "X-Kind": "a" } })).toMatchObject({
      status: 200,
      body: {
        ok: true,
        mapping: "t",
        actions: [{ kind: "agent", message: "1 a" }],
        log: [{ level: "warn", text: "saw 1" }],
        durationMs: expect.any(Number),
      },
    });
    expect((await service.api("/api/events")).events).toEqual([]);
  });

  test("shows where the transform failed", async () => {
    service = await startService({ config, files });
    const { status, body } = await trial({ hook: "t", payload: { n: 2 } });
    expect({ status, body }).toMatchObject({ status: 500, body: { ok: false, code: "transform_failed" } });
    expect(body.detail).toContain("too many: 2");
    expect(body.detail).toMatch(/t\.ts:3:\d+/);
  });

  test("gets the same input as the hook: without credentials, with any field name", async () => {
    const mappings = [
      {
        match: { path: "c" },
        messageTemplate: "[{{headers.authorization}}{{query.token}}] {{json payload}}",
      },
    ];
    service = await startService({ config: { hooks: { mappings } } });
    const body =
      '{"hook":"c","payload":{"__proto__":{"a":1}},"headers":{"Authorization":"Bearer s"},"query":{"token":"s"}}';
    const answer = await trial(body);
    expect(answer).toMatchObject({
      status: 200,
      body: { actions: [{ message: '[] {"__proto__":{"a":1}}' }] },
    });
  });

  test("keeps the log when policy refuses the action", async () => {
    const refused =
      'export default () => { console.log("here"); return { message: "x", allowUnsafeExternalContent: true }; };';
    service = await startService({ config, files: { "transforms/t.ts": refused } });
    const answer = await trial({ hook: "t", payload: {} });
    expect(answer).toMatchObject({
      status: 400,
      body: { code: "unsafe_content_refused", log: [{ text: "here" }] },
    });
  });

  test("refuses a channel that is not configured, as the service does", async () => {
    const toSlack = 'export default ({ payload }) => ({ message: "x", to: "C1", ...payload });';
    service = await startService({ config, files: { "transforms/t.ts": toSlack } });
    const tried = async (payload: object) => (await trial({ hook: "t", payload })).body;
    expect(await tried({ channel: "slack" })).toMatchObject({ ok: false, error: "channel slack is not configured." });
    expect(await tried({ channel: "slack", deliver: false })).toMatchObject({ ok: true, warnings: [] });
    expect(await tried({})).toMatchObject({ ok: true, warnings: [] });
  });

  test("suggests the nearest hook", async () => {
    const mappings = [{ match: { path: "build", source: "ci" }, messageTemplate: "x" }];
    service = await startService({ config: { hooks: { mappings } } });
    const detailOf = async (hook: string) => (await trial({ hook, payload: {} })).body.detail;
    expect(await detailOf("buidl")).toBe('There is no hook "buidl"; did you mean "build"?');
    expect(await detailOf("orders")).toContain("known here: wake, agent, build");
    expect((await trial({ hook: "build", payload: {} })).body).toMatchObject({
      ok: true,
      actions: [],
      reason: "No mapping matches: mapping-0 (match.source).",
    });
  });

  test("is refused for an unknown hook, or without a payload", async () => {
    service = await startService({ config, files });
    expect((await trial({ hook: "nope", payload: {} })).status).toBe(404);
    expect((await trial({ hook: "t" })).status).toBe(400);
    expect((await trial([])).status).toBe(400);
  });

  test.each([5_000, 100_000])("is refused for a payload that nests %i levels deep", async (depth) => {
    service = await startService({ config, files });
    const answer = await trial(`{"hook":"t","payload":${"[".repeat(depth)}${"]".repeat(depth)}}`);
    expect(answer).toMatchObject({ status: 400, body: { code: "invalid_json" } });
  });

  async function trial(body: unknown) {
    const response = await fetch(`${service.url}/api/try`, {
      method: "POST",
      headers: { authorization: `Bearer ${GATEWAY_TOKEN}`, "content-type": "application/json" },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    const answer: Answer = {
      status: response.status,
      headers: response.headers,
      body: await response.json(),
    };
    return answer;
  }
});
