import { afterEach, describe, expect, test } from "vitest";
import { findProblems } from "../support/config.ts";
import { type Json, MCP_TOKEN, OTHER_TOKEN, publishing, rpc } from "../support/mcp.ts";
import * as fc from "../support/property.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService } from "../support/service.ts";

const started: Service[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.close()));
});

async function start(...args: Parameters<typeof publishing>): Promise<Service> {
  const service = await startService({ config: publishing(...args) });
  started.push(service);
  return service;
}

const EVERYTHING = { principals: { desk: { secret: MCP_TOKEN, events: ["*"] } } };

/** The events of a type since a cursor, once there are as many. */
async function pollUntil(service: Service, cursor: string, count: number, name = "deploys"): Promise<Json[]> {
  const events: Json[] = [];
  await expect
    .poll(async () => {
      const { result } = await rpc(service.url, "events/poll", { name, cursor });
      events.splice(0, Infinity, ...result.events);
      return events.length;
    })
    .toBe(count);
  return events;
}

async function now(service: Service, name = "deploys"): Promise<string> {
  return (await rpc(service.url, "events/poll", { name })).result.cursor;
}

describe("what is published", () => {
  test("is not what hooks.redact names, nor what looks like a secret, nor headers and query", async () => {
    const publish = {
      arguments: {
        repo: "{{payload.repo}}",
        header: "{{headers.x-a}}",
        query: "{{query.a}}",
        key: "{{payload.secret.key}}",
      },
      data: "payload" as const,
    };
    const config = publishing({}, { publish });
    const service = await startService({ config: { ...config, hooks: { ...config.hooks, redact: ["$.secret"] } } });
    started.push(service);
    const cursor = await now(service);
    const payload = { repo: "a", secret: { key: "hidden" }, user: { name: "ann", api_key: "hidden" } };
    await service.post("deploys?a=1", payload, { "x-a": "hidden" });
    const [event] = await pollUntil(service, cursor, 1);
    expect(event.data).toEqual({ repo: "a", secret: "[redacted]", user: { name: "ann", api_key: "[redacted]" } });
    expect(JSON.stringify(event)).not.toContain("hidden");
    for (const filter of ["header", "query", "key"]) {
      const { result } = await rpc(service.url, "events/poll", {
        name: "deploys",
        cursor,
        arguments: { [filter]: "hidden" },
      });
      expect(result.events).toEqual([]);
    }
  });

  test("is an object, keeps long numbers, and is left out when it is too large", async () => {
    const service = await start({}, { publish: { data: "payload" } });
    const cursor = await now(service);
    const post = (body: string) =>
      fetch(`${service.url}/hooks/deploys`, {
        method: "POST",
        headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" },
        body,
      });
    await post('{"id":12345678901234567890}');
    await post("[1,2]");
    await post(JSON.stringify({ text: "é".repeat(131_000) }));
    await pollUntil(service, cursor, 3);
    const response = await fetch(`${service.url}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${MCP_TOKEN}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "events/poll", params: { name: "deploys", cursor } }),
    });
    const text = (await response.text()).slice(0, 5000);
    expect(text).toContain('"data":{"id":12345678901234567890}');
    expect(text).toContain('"data":{"body":[1,2]}');
    expect(text).toContain('"data":{"omitted":"too large"}');
  });

  test("with forEach is one for each item, and a repeated item is not published again", async () => {
    const service = await start(
      {},
      {
        forEach: "items",
        dedupe: "{{item.id}}",
        publish: { arguments: { id: "{{item.id}}" }, data: { number: "{{item.n}}", at: "{{index}}" } },
      },
    );
    const cursor = await now(service);
    const { body } = await service.post("deploys", {
      items: [
        { id: "a", n: 1 },
        { id: "b", n: 2 },
      ],
    });
    await service.post("deploys", {
      items: [
        { id: "b", n: 2 },
        { id: "c", n: 3 },
      ],
    });
    const events = await pollUntil(service, cursor, 3);
    expect(events.map(({ eventId }) => eventId).slice(0, 2)).toEqual([`${body.eventId}.0`, `${body.eventId}.1`]);
    expect(events.map(({ data }) => data)).toEqual([
      { number: 1, at: 0 },
      { number: 2, at: 1 },
      { number: 3, at: 1 },
    ]);
  });

  test("is each accepted event once: no repeat, skip, refusal, replay or dry run", async () => {
    const service = await start(EVERYTHING, {
      action: "agent",
      messageTemplate: "{{payload.n}}",
      deliver: false,
      event: "{{payload.kind}}",
      events: ["made", "done.*"],
      dedupe: "{{payload.n}}",
      schema: { type: "object", required: ["n"] },
    });
    const cursor = await now(service, "deploys.made");
    const { body } = await service.post("deploys", { kind: "made", n: 1 });
    await service.post("deploys", { kind: "made", n: 1 });
    await service.post("deploys", { kind: "other", n: 2 });
    await service.post("deploys", { kind: "made" });
    await service.try("deploys", { kind: "made", n: 3 });
    await fetch(`${service.url}/api/events/${body.eventId}/replay`, {
      method: "POST",
      headers: { authorization: `Bearer ${GATEWAY_TOKEN}` },
    });
    await service.post("deploys", { kind: "made", n: 4 });
    expect((await pollUntil(service, cursor, 2, "deploys.made")).map(({ data }) => data)).toEqual(
      [{}, {}].map((_, i) => ({ env: undefined, n: [1, 4][i] })),
    );
    await service.post("deploys", { kind: "done.well", n: 5 });
    const names = async () => (await rpc(service.url, "events/list")).result.events.map(({ name }: Json) => name);
    await expect.poll(names).toEqual(["deploys.done.well", "deploys.made"]);
  });

  test("carries the stores it came through, and does not come back", async () => {
    const service = await start(EVERYTHING, { publish: { data: "payload" } });
    const cursor = await now(service);
    const [own] = cursor.split(".");
    await service.post("deploys", { n: 1, _meta: { "hookline/via": ["other"] } });
    await service.post("deploys", { n: 2, _meta: { "hookline/via": ["other", own] } });
    await service.post("deploys", { n: 3, _meta: { "hookline/via": Array(8).fill("x") } });
    await service.post("deploys", { n: 4, _meta: { "hookline/via": "nonsense" } });
    const events = await pollUntil(service, cursor, 2);
    expect(events.map(({ data, _meta }) => [data.n, _meta["hookline/via"]])).toEqual([
      [1, ["other", own]],
      [4, [own]],
    ]);
  });

  test("of a preset is what its `with` says", async () => {
    const config = publishing(EVERYTHING);
    config.hooks = {
      presets: [
        { use: "github", with: { publish: { arguments: { repo: "{{repository.full_name}}" } }, action: "none" } },
      ],
    };
    const service = await startService({ config });
    started.push(service);
    const names = (await rpc(service.url, "events/list")).result.events.map(({ name }: Json) => name);
    expect(names).toContain("github.issues.opened");
    const cursor = await now(service, "github.issues.opened");
    const issue = {
      number: 1,
      title: "t",
      user: { login: "ann" },
      html_url: "https://github.com/acme/web/issues/1",
      body: "",
    };
    const payload = { action: "opened", issue, repository: { full_name: "acme/web" }, sender: { login: "ann" } };
    const { status, body } = await service.post("github", payload, {
      "x-github-event": "issues",
      "x-github-delivery": "d-1",
    });
    expect([status, Object.keys(body).toSorted()]).toEqual([200, ["eventId", "ok"]]);
    expect((await service.settled(body.eventId)).outcome).toBe("published");
    const [event] = await pollUntil(service, cursor, 1, "github.issues.opened");
    expect(event).toMatchObject({ name: "github.issues.opened", data: { repo: "acme/web" } });
  });
});

test("a service without gateway.mcp publishes nothing", async () => {
  const { hooks } = publishing();
  const service = await startService({ config: { hooks } });
  started.push(service);
  expect(await service.post("deploys", { n: 1 })).toMatchObject({ status: 200, body: { ok: true } });
  await service.reload(publishing());
  const { result } = await rpc(service.url, "events/poll", {
    name: "deploys",
    cursor: (await now(service)).replace(/\d+$/, "0"),
  });
  expect(result.events).toEqual([]);
});

test("a configuration that cannot be meant is refused", async () => {
  const config = publishing({
    principals: {
      desk: { secret: HOOK_TOKEN, events: ["*"] },
      same: { secret: MCP_TOKEN, events: ["*"] },
      twice: { secret: MCP_TOKEN, events: ["*"] },
    },
    oauth: { issuer: "http://issuer.example.com", principals: { same: { sub: "1", events: ["*"] } } },
    key: "short",
  });
  config.hooks!.token = HOOK_TOKEN;
  config.hooks!.mappings!.push(
    { action: "none", publish: true },
    { match: { path: "a" }, action: "none" },
    { match: { path: "b" }, action: "none", publish: true, transform: { module: "x.ts" } },
  );
  const { errors } = await findProblems(config);
  expect(errors).toEqual(
    expect.arrayContaining([
      expect.stringContaining("gateway.mcp.principals.desk.secret: This secret is also a hook token"),
      expect.stringContaining("gateway.mcp.principals.twice.secret: Another principal has this secret."),
      expect.stringContaining('gateway.mcp.oauth.principals.same: "same" is already the name of another principal.'),
      expect.stringContaining("gateway.publicUrl: This is required for gateway.mcp.oauth"),
      expect.stringContaining("gateway.mcp.oauth.issuer: The issuer must be a URL that begins with https://."),
      expect.stringContaining("gateway.mcp.key: A key must have at least 32 characters."),
      expect.stringContaining("hooks.mappings[1].publish: A mapping with publish needs match.path"),
      expect.stringContaining('hooks.mappings[2].action: The action "none" requires publish'),
      expect.stringContaining("hooks.mappings[3].transform: A transform makes actions"),
    ]),
  );
});

test("no sequence of requests shows a principal an event outside of its patterns and arguments", async () => {
  const service = await start(
    {
      principals: {
        desk: { secret: MCP_TOKEN, events: ["*"] },
        other: { secret: OTHER_TOKEN, events: ["deploys.*"], arguments: { env: ["staging", "test"], n: [1, 2] } },
      },
    },
    { event: "{{payload.kind}}" },
  );
  for (const kind of ["made", "gone", ""]) {
    for (const env of ["staging", "production", "test", 1]) {
      for (const n of [1, 2, 3, "1"]) await service.post("deploys", { kind, env, n });
    }
  }
  const listNames = async (token: string): Promise<string[]> =>
    (await rpc(service.url, "events/list", {}, { token })).result.events.map(({ name: listed }: Json) => listed);
  await expect.poll(() => listNames(MCP_TOKEN)).toEqual(["deploys", "deploys.gone", "deploys.made"]);
  const begin = (await now(service)).replace(/\d+$/, "");
  await pollUntil(service, `${begin}0`, 16, "deploys.made");
  const name = fc.constantFrom("deploys", "deploys.made", "deploys.gone", "DEPLOYS.made", "*", "deploys.*", "other");
  const value = fc.constantFrom("staging", "production", "test", "*", "", 1, 2, 3, "1", true);
  const filter = fc.dictionary(fc.constantFrom("env", "n", "__proto__", "x"), value, { maxKeys: 3 });
  const cursor = fc.integer({ min: 0, max: 60 }).map((position) => `${begin}${position}`);
  const request = fc.record(
    { name, arguments: filter, cursor, maxEvents: fc.integer({ min: 0, max: 50 }) },
    { requiredKeys: ["name"] },
  );
  await fc.assert(
    fc.asyncProperty(request, async (params) => {
      const { result, error } = await rpc(service.url, "events/poll", params, { token: OTHER_TOKEN });
      for (const { name: seen, data } of result?.events ?? []) {
        expect(seen).toMatch(/^deploys\./);
        expect(["staging", "test"]).toContain(data.env);
        expect([1, 2]).toContain(data.n);
      }
      if (error) expect([-32011, -32012, -32602]).toContain(error.code);
      if (params.name === "other" || params.name === "deploys") expect(error?.code).toBe(-32011);
    }),
    { numRuns: 150 },
  );
  expect(await listNames(OTHER_TOKEN)).toEqual(["deploys.gone", "deploys.made"]);
});
