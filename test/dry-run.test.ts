/** `POST /api/try`: the actions that a request would lead to. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Answer } from "./support/client.ts";
import { GATEWAY_TOKEN, type Service, startService } from "./support/service.ts";

const TRANSFORMS = {
  t: [
    "export default ({ payload, headers }: { payload: any; headers: any }) => {",
    '  console.warn("saw", payload.n);',
    '  if (payload.n > 1) throw new Error("too many: " + payload.n);',
    '  return { message: `${payload.n} ${headers["x-kind"]}` };',
    "};",
  ].join("\n"),
  refused: 'export default () => { console.log("here"); return { message: "x", allowUnsafeExternalContent: true }; };',
  slack: 'export default ({ payload }) => ({ message: "x", to: "C1", ...payload });',
};

let service: Service;
beforeAll(async () => {
  const mappings = [
    { match: { path: "build", source: "ci" }, messageTemplate: "x" },
    {
      match: { path: "c" },
      messageTemplate: "[{{headers.authorization}}{{query.token}}] {{json payload}}",
    },
    ...Object.keys(TRANSFORMS).map((id) => ({ id, match: { path: id }, transform: { module: `${id}.ts` } })),
  ];
  const files = Object.entries(TRANSFORMS).map(([name, code]) => [`transforms/${name}.ts`, code]);
  service = await startService({ config: { hooks: { mappings } }, files: Object.fromEntries(files) });
});
afterAll(() => service.close());

test("shows the actions, the log and the time, and records nothing", async () => {
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
  const { status, body } = await trial({ hook: "t", payload: { n: 2 } });
  expect({ status, body }).toMatchObject({ status: 500, body: { ok: false, code: "transform_failed" } });
  expect(body.detail).toContain("too many: 2");
  expect(body.detail).toMatch(/t\.ts:3:\d+/);
});

test("gets the same input as the hook: without credentials, with any field name", async () => {
  const body =
    '{"hook":"c","payload":{"__proto__":{"a":1}},"headers":{"Authorization":"Bearer s"},"query":{"token":"s"}}';
  const answer = await trial(body);
  expect(answer).toMatchObject({
    status: 200,
    body: { actions: [{ message: '[] {"__proto__":{"a":1}}' }] },
  });
});

test("keeps the log when policy refuses the action", async () => {
  const answer = await trial({ hook: "refused", payload: {} });
  expect(answer).toMatchObject({
    status: 400,
    body: { code: "unsafe_content_refused", log: [{ text: "here" }] },
  });
});

test("refuses a channel that is not configured, as the service does", async () => {
  const tried = async (payload: object) => (await trial({ hook: "slack", payload })).body;
  const refused = { ok: false, error: "channel slack is not configured." };
  expect(await tried({ channel: "slack" })).toMatchObject(refused);
  expect(await tried({ channel: "slack", deliver: false })).toMatchObject(refused);
  expect(await tried({})).toMatchObject({ ok: true, warnings: [] });
});

test("a refusal has the shape of all errors", async () => {
  const { body } = await trial({ hook: "orders", payload: {} });
  expect(body).toMatchObject({
    ok: false,
    code: "not_found",
    error: expect.any(String),
    requestId: expect.any(String),
  });
});

test("suggests the nearest hook", async () => {
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
  expect((await trial({ hook: "nope", payload: {} })).status).toBe(404);
  expect((await trial({ hook: "t" })).status).toBe(400);
  expect((await trial([])).status).toBe(400);
});

test.each([5_000, 100_000])("is refused for a payload that nests %i levels deep", async (depth) => {
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
