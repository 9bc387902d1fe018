import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Answer } from "./support/client.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService } from "./support/service.ts";

const mappings = [
  {
    id: "m",
    match: { path: "m" },
    dedupe: "{{id}}",
    sessionKey: "m",
    messageTemplate: "{{headers.x-kind}} {{id}} {{password}}",
    deliver: false,
  },
  { id: "t", match: { path: "t" }, transform: { module: "t.ts" }, deliver: false },
];
const files = { "transforms/t.ts": "export default () => { throw new Error('not yet'); };" };

let service: Service;
beforeEach(async () => {
  service = await startService({ config: { hooks: { mappings, redact: ["$.password"] } }, files });
});
afterEach(() => service.close());

describe("a replay", () => {
  test("is a new event that is executed, with any key of the first one", async () => {
    const keyed = { "x-kind": "first", "idempotency-key": "k" };
    const first = await service.post("m", { id: 1 }, keyed);
    await service.settled(first.body.eventId);
    expect((await service.post("m", { id: 1 }, keyed)).headers.get("idempotency-replayed")).toBe("true");

    const again = await replay(first.body.eventId);
    expect(again).toMatchObject({ status: 202, body: { ok: true, sessionKey: expect.any(String) } });
    expect(again.headers.get("idempotency-replayed")).toBeNull();
    const event = await service.settled(again.body.eventId);
    expect(event).toMatchObject({ status: "done", mapping: "m", replayOf: first.body.eventId });
    expect(event.runs[0].action.message).toContain("first 1");
    expect((await service.api("/api/events")).events).toMatchObject([
      { id: again.body.eventId, replayOf: first.body.eventId },
      { id: first.body.eventId },
    ]);
    expect((await service.post("m", { id: 1 }, keyed)).body.eventId).toBe(first.body.eventId);
  });

  test("uses the current mappings", async () => {
    expect((await service.post("t", { n: 1 })).status).toBe(500);
    const [{ id }] = (await service.api("/api/events?status=failed")).events;
    expect(await replay(id)).toMatchObject({ status: 500, body: { code: "transform_failed" } });
    expect((await service.api("/api/events?status=failed")).events).toMatchObject([{ replayOf: id }, { id }]);

    service.write("transforms/t.ts", "export default ({ payload }) => ({ message: `n ${payload.n}` });");
    await service.hookline.reload();
    const { status, body } = await replay(id);
    expect(status).toBe(202);
    expect((await service.settled(body.eventId)).runs[0].action.message).toBe("n 1");
  });

  test("has neither the headers nor the fields that were redacted", async () => {
    const payload = { id: 2, password: "hunter2" };
    const { body } = await service.post("m", payload, { "x-kind": "a", "x-api-key": "s3cret" });
    const first = await service.settled(body.eventId);
    expect(first.request).toMatchObject({
      payload: { id: 2, password: "[redacted]" },
      headers: { "x-api-key": "[redacted]" },
    });
    // The mapping decides the agent's message; only the stored request is redacted.
    expect(first.runs[0].action.message).toContain("hunter2");

    const event = await service.settled((await replay(body.eventId)).body.eventId);
    expect(event.request.headers).not.toHaveProperty("x-api-key");
    expect(event.runs[0].action.message).toContain("a 2 [redacted]");
  });

  test("of JSON that curl sent as a form has the payload that the event shows", async () => {
    const [first, warnings] = [await postForm('{"id":3,"password":"100%"}'), [expect.stringContaining("a form")]];
    expect(first).toMatchObject({ ok: true, warnings });
    const event = await service.settled(first.eventId);
    expect(event).toMatchObject({ warnings, request: { payload: { id: 3, password: "[redacted]" } } });
    const again = await replay(first.eventId);
    expect((await service.settled(again.body.eventId)).runs[0].action.message).toContain("3 [redacted]");
  });

  test("of a form has the fields that the event shows", async () => {
    const { eventId } = await postForm("id=4&x=a+b&x=c");
    expect((await service.settled(eventId)).request.payload).toEqual({ id: "4", x: ["a b", "c"] });
    const again = await replay(eventId);
    expect((await service.settled(again.body.eventId)).runs[0].action.message).toContain("4");
  });

  test("of a request without a read body is refused", async () => {
    const large = await service.post("m", "x".repeat(300_000));
    expect(large.status).toBe(413);
    const [{ id }] = (await service.api("/api/events?status=refused")).events;
    expect(await replay(id)).toMatchObject({ status: 409, body: { ok: false, code: "no_stored_body" } });
    expect(await replay("nope")).toMatchObject({ status: 404, body: { code: "not_found" } });
  });
});

test.each([
  ["application/json", '{ "password": "hunter2"'],
  ["application/x-www-form-urlencoded", "password=hunter2%"],
])("a body that could not be parsed is not stored if there are paths to redact: %s", async (type, body) => {
  const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": type };
  const response = await fetch(`${service.url}/hooks/m`, { method: "POST", headers, body });
  expect(response.status).toBe(400);
  const [{ id }] = (await service.api("/api/events?status=refused")).events;
  expect((await service.api(`/api/events/${id}`)).request.payload).toBe("");
});

/** Like `curl -d`. */
async function postForm(body: string): Promise<Answer["body"]> {
  const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/x-www-form-urlencoded" };
  const response = await fetch(`${service.url}/hooks/m`, { method: "POST", headers, body });
  return (await response.json()) as Answer["body"];
}

async function replay(id: string): Promise<Answer> {
  const response = await fetch(`${service.url}/api/events/${id}/replay`, {
    method: "POST",
    headers: { authorization: `Bearer ${GATEWAY_TOKEN}` },
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Answer["body"],
  };
}
