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

test("an event says what it is about: by its mapping's subject, also if it is skipped, else by the start of its message", async () => {
  const ignore = [{ value: "{{draft}}", is: "true", reason: "it is a draft" }];
  const mappings = [
    { match: { path: "pulls" }, subject: "#{{number}}:\n {{title}}", ignore, messageTemplate: "A pull request." },
    { match: { path: "plain" }, messageTemplate: "\n  New ticket {{id}} \nwith more" },
    { match: { path: "each" }, forEach: "list", subject: "{{item}}", action: "wake" as const, textTemplate: "x" },
  ];
  service = await startService({ config: { hooks: { mappings } } });
  const title = `Fix\u0000 ${"the total ".repeat(30)}`;
  await service.post("pulls", { number: 7, title });
  await service.post("pulls", { number: 8, title: "Later", draft: true });
  await service.post("plain", { id: "T-1" });
  await service.post("each", { list: ["", "second"] });
  await service.post("wake", { text: "The build is broken." });
  await service.post("agent", { message: "Say hello." });
  await service.post("wake", {});
  const { events } = await service.api("/api/events");
  const long = `#7: Fix ${"the total ".repeat(30)}`.slice(0, 160).trim();
  const subjects = [long, "#8: Later", "New ticket T-1", "second", "The build is broken.", "Say hello.", undefined];
  expect(events.map(({ subject }: { subject?: string }) => subject).toReversed()).toEqual(subjects);
  expect(await service.api(`/api/events/${events.at(-1).id}`)).toMatchObject({ subject: long });
  expect((await service.api("/api/events?q=%238%3A%20later")).events).toMatchObject([{ subject: "#8: Later" }]);
});

test("the times of a request's steps are shown", async () => {
  const transform = { module: "ci.ts" };
  const mappings = [
    { match: { path: "ci" }, transform, deliver: false },
    { match: { path: "signed" }, auth: { scheme: "github", secret: SECRET }, transform, deliver: false } as const,
  ];
  const code = "export default ({ payload }) => ({ message: `job ${payload.job.at(0).toUpperCase()}` });";
  service = await startService({ config: { hooks: { mappings } }, files: { "transforms/ci.ts": code } });
  for (const { hook, job, status } of [
    { hook: "signed", job: "lint", status: "done" },
    { hook: "ci", job: "lint", status: "done" },
    { hook: "ci", job: "", status: "failed" },
  ]) {
    const body = JSON.stringify({ job });
    const signature = `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
    const headers = { "content-type": "application/json", "x-hub-signature-256": signature };
    if (hook === "signed") await fetch(`${service.url}/hooks/${hook}`, { method: "POST", headers, body });
    else await service.post(hook, { job });
    const [event] = (await service.api("/api/events")).events;
    await service.settled(event.id);
    const { timings, ...shown } = await service.api(`/api/events/${event.id}`);
    expect(shown).toMatchObject({ hook, status });
    const steps = ["receiveMs", "verifyMs", "mappingMs", ...(status === "done" ? ["transformMs"] : [])];
    expect(Object.keys(timings)).toEqual(steps);
    for (const ms of Object.values(timings)) expect(ms).toBeGreaterThanOrEqual(0);
  }
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
      ["POST", "/healthz", "GET"],
      ["PUT", "/readyz", "GET"],
      ["POST", "/metrics", "GET"],
    ] as const) {
      const response = await fetch(service.url + path, { method, headers });
      expect([response.status, response.headers.get("allow")]).toEqual([405, allow]);
      if (path.startsWith("/api/")) expectApiHeaders(response);
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
  expect((await service.api("/api/events?status=refused")).events).toMatchObject([{ hook: "m", status: "refused" }]);
});

test("a parameter with a value that it cannot have is refused, by every list", async () => {
  service = await startService();
  const headers = { authorization: `Bearer ${GATEWAY_TOKEN}` };
  const refusalOf = async (path: string) => {
    const response = await fetch(service.url + path, { headers });
    return [path, response.status, await response.json()];
  };
  const expected = (path: string, error: string) => [
    path,
    400,
    expect.objectContaining({ ok: false, code: "invalid_query", error }),
  ];
  const lists = ["events", "sessions", "sessions/main", "runs", "deliveries", "dead-letters", "rejections"];
  for (const list of lists.map((name) => `/api/${name}`)) {
    for (const limit of ["0", "-1", "1.5", "1001", "none", "0x10", "1e2"]) {
      const path = `${list}?limit=${limit}`;
      expect(await refusalOf(path)).toEqual(expected(path, "limit must be a whole number from 1 to 1000."));
    }
    expect((await fetch(`${service.url}${list}?limit=1000`, { headers })).status).toBe(200);
  }
  for (const list of ["events", "runs", "deliveries", "dead-letters"].map((name) => `/api/${name}`)) {
    const path = `${list}?before=zzz`;
    expect(await refusalOf(path)).toEqual(expected(path, "before must be the id of an item of this list."));
  }
  for (const [path, error] of [
    ["/api/sessions/main?after=-1", "after must be the seq of an entry."],
    ["/api/events?status=odd", /^status must be one of held, /],
    ["/api/runs?state=odd", /^state must be one of /],
    ["/api/events/export?since=5", "since must be a time in ISO 8601."],
    ["/api/spend?since=2026-13-01", "since must be a time in ISO 8601."],
  ] as const) {
    expect(await refusalOf(path)).toEqual(expected(path, expect.stringMatching(error)));
  }
});

test.each([
  ["/api/events?hok=wake", 'Unknown parameter "hok"; did you mean "hook"?'],
  ["/api/events/export?untill=2026-01-01", 'Unknown parameter "untill"; did you mean "until"?'],
  ["/api/sessions?lmit=3", 'Unknown parameter "lmit"; did you mean "limit"?'],
  ["/api/sessions/main?until=3", 'Unknown parameter "until"; known here: limit, after, before.'],
  ["/api/runs?sate=failed", 'Unknown parameter "sate"; did you mean "state"?'],
  ["/api/deliveries?page=2", 'Unknown parameter "page"; known here: limit, before, from, to, state, channel, group.'],
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
