/** Kinds of bodies through the whole service: what the agent gets, what is shown and what is replayed. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createParsers } from "../src/ingress/parse-body.ts";
import { createSqliteJournal } from "../src/journal/sqlite/sqlite.ts";
import { createReceiver } from "../src/receive.ts";
import { silentTelemetry } from "../src/telemetry/telemetry.ts";
import { createSandbox } from "../src/transforms/sandbox/sandbox.ts";
import { toRequest } from "./support/mapping.ts";
import { sharedPool } from "./support/pool.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService } from "./support/service.ts";

const CHANNEL_TOKEN = "the-token-of-this-channel";

let service: Service;
beforeAll(async () => {
  service = await startService({
    files: {
      "transforms/sizes.ts":
        "export default ({ payload, rawBody }) => ({ message: `${Object.keys(payload)} ${payload.a} ${rawBody.length}` });",
    },
    config: {
      hooks: {
        transformsDir: "transforms",
        presets: ["mail"],
        mappings: [
          { match: { path: "orders" }, forEach: "orders.order", messageTemplate: "{{item.name}} #{{item.$id}}" },
          {
            match: { path: "sized", where: { required: ["small"] } },
            maxBodyBytes: 100,
            messageTemplate: "{{length}}",
          },
          {
            match: { path: "calendar" },
            auth: { scheme: "google-channel", secret: CHANNEL_TOKEN },
            messageTemplate: "{{headers.x-goog-resource-state}}",
          },
          { match: { path: "sized" }, maxBodyBytes: 1_000_000, messageTemplate: "{{length}}" },
          { match: { path: "passed" }, transform: { module: "sizes.ts" }, dedupe: "{{headers.x-delivery}}" },
          { match: { path: "parsed" }, transform: { module: "sizes.ts" }, messageTemplate: "{{payload.a}}" },
          { match: { path: "upload" }, messageTemplate: "{{note}}: {{files.[0].name}} {{files.[0].content}}" },
        ],
      },
    },
  });
});
afterAll(() => service.close());

const UPLOAD = `--x
Content-Disposition: form-data; name="note"

a scan
--x
Content-Disposition: form-data; name="scan"; filename="s.txt"

hello
--x--`.replaceAll("\n", "\r\n");

test.each([
  {
    what: "XML",
    hook: "orders",
    type: "text/xml",
    body: '<orders><order id="7"><name>tea</name></order></orders>',
    message: "tea #7",
    payload: { orders: { order: { name: "tea" } } },
  },
  {
    what: "a multipart form",
    hook: "upload",
    type: "multipart/form-data; boundary=x",
    body: UPLOAD,
    message: "a scan: s.txt aGVsbG8=",
    payload: { note: "a scan", files: [{ field: "scan", size: 5 }] },
  },
  {
    what: "a mail",
    hook: "mail",
    type: "message/rfc822",
    body: "From: Ann <ann@example.com>\r\nMessage-ID: <m1@example.com>\r\nSubject: Hi\r\n\r\nSee you at six",
    message: "See you at six",
    payload: { messages: [{ messageId: "m1@example.com", subject: "Hi" }] },
  },
])("$what reaches the agent, is shown and can be replayed", async ({ hook, type, body, message, payload }) => {
  const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": type };
  const answer = await fetch(`${service.url}/hooks/${hook}`, { method: "POST", headers, body });
  expect(answer.status).toBe(202);
  const { eventId } = Object(await answer.json());
  const event = await service.api(`/api/events/${eventId}`);
  expect(event.request.payload).toMatchObject(payload);
  expect(event.runs[0].action.message).toContain(message);

  expect(await replay(eventId)).toBe(202);
});

test.each(["wake", "agent"])("%s takes neither XML nor a mail", async (hook) => {
  for (const type of ["application/xml", "text/xml", "application/atom+xml", "message/rfc822"]) {
    const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": type };
    const answer = await fetch(`${service.url}/hooks/${hook}`, { method: "POST", headers, body: "<text>x</text>" });
    expect([answer.status, await answer.json()]).toMatchObject([415, { code: "unsupported_media_type" }]);
  }
});

const nest = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

test.each([
  ["an object", '{"a":1}', 202],
  ["a key that is there twice", '{"a":1,"a":2}', 202],
  ["a key that is there twice, first with a deep value", `{"a":${nest(1001)},"a":2}`, 202],
  ["the key of a prototype", '{"__proto__":{"a":3}}', 202],
  ["1000 levels", `{"a":${nest(999)}}`, 202],
  ["1001 levels", `{"a":${nest(1000)}}`, 400],
  ["1001 levels after a quote in a string", `{"a":["\\"",${nest(999)}]}`, 400],
  ["brackets in strings", JSON.stringify({ a: `\\"${"[".repeat(3000)}` }), 202],
  ["100,000 levels that are never closed", "[".repeat(100_000), 400],
  ["a byte order mark", '\ufeff{"a":1}', 202],
  ["nothing", "", 400],
  ["blanks", "  ", 400],
  ["half an object", '{"a":', 400],
  ["a comma too much", `{"a":"${"x".repeat(20_000)}",}`, 400],
  ["bytes that are not UTF-8", Buffer.from([0x22, 0xff, 0x22]), 400],
  ["null, which the transform cannot read", "null", 500],
])("%s: a transform that parses the body itself makes no difference", async (_what, body, status) => {
  const sent = async (hook: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" };
    const answer = await fetch(`${service.url}/hooks/${hook}`, { method: "POST", headers, body });
    const { code, error, ...rest } = Object(await answer.json());
    const event = await service.api(`/api/events/${rest.eventId ?? rest.requestId}`);
    const { status: state, error: failure, log, mapping, request, runs } = event;
    const message = runs[0]?.action.message;
    const shown = { state, failure, log, isMapped: mapping !== undefined, payload: request.payload, message };
    return { status: answer.status, code, error, ...shown };
  };
  const passed = await sent("passed");
  expect(passed).toEqual(await sent("parsed"));
  expect(passed).toMatchObject({ status });
});

test("a body is parsed after all if a reload brings a mapping that reads it", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-receive-"));
  const journal = await createSqliteJournal({ folder, telemetry: silentTelemetry });
  onTestFinished(() => journal.close());
  const { receive, readsPayload } = createReceiver({
    current: () => service.hookline.program(),
    sandbox: createSandbox({ telemetry: silentTelemetry, pool: sharedPool }),
    journal,
    telemetry: silentTelemetry,
    findParser: createParsers({ readMail: async () => ({}) }),
  });
  const post = (id: string, hook: string, body: string) => {
    const credential = "token:default";
    return toRequest(hook, undefined, { id, credential, rawBody: Buffer.from(body), payloadIsBody: true });
  };
  expect(readsPayload(post("1", "passed", "{}"))).toBe(false);
  const unread = post("1", "sized", '{"length":7}');
  expect(readsPayload(unread)).toBe(true);
  expect(await receive(unread)).toMatchObject({ status: 202 });
  expect(await journal.getEvent("1")).toMatchObject({ runs: [{ action: { message: "7" } }] });
  await expect(receive(post("2", "sized", '{"a":'))).rejects.toMatchObject({ status: 400, code: "invalid_json" });
  expect(await journal.getEvent("2")).toMatchObject({ status: "rejected" });
});

test("an empty body of a sender that notifies by headers", async () => {
  const headers = { "x-goog-channel-token": CHANNEL_TOKEN, "x-goog-resource-state": "exists" };
  const answer = await fetch(`${service.url}/hooks/calendar`, { method: "POST", headers });
  expect(answer.status).toBe(202);
  const { eventId } = Object(await answer.json());
  const event = await service.api(`/api/events/${eventId}`);
  expect(event).toMatchObject({ request: { payload: {} }, runs: [{ action: { message: "exists" } }] });
  expect(await replay(eventId)).toBe(202);

  const byToken = { authorization: `Bearer ${HOOK_TOKEN}` };
  expect((await fetch(`${service.url}/hooks/orders`, { method: "POST", headers: byToken })).status).toBe(400);
});

async function replay(eventId: string): Promise<number> {
  const headers = { authorization: `Bearer ${GATEWAY_TOKEN}` };
  return (await fetch(`${service.url}/api/events/${eventId}/replay`, { method: "POST", headers })).status;
}

test("a multipart form that is sent again has another boundary, and is the same request", async () => {
  const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "idempotency-key": "upload-1" };
  const upload = async (note: string): Promise<unknown> => {
    const body = new FormData();
    body.append("note", note);
    const answer = await fetch(`${service.url}/hooks/upload`, { method: "POST", headers, body });
    return [answer.status, answer.headers.get("idempotency-replayed")];
  };
  expect(await upload("a scan")).toEqual([202, null]);
  expect(await upload("a scan")).toEqual([202, "true"]);
  expect(await upload("another")).toEqual([422, null]);
});

test("maxBodyBytes of a mapping is its own limit, also above that of all hooks", async () => {
  const post = async (hook: string, payload: object, length: number): Promise<unknown> => {
    const filled = { ...payload, message: "x".repeat(length - JSON.stringify({ ...payload, message: "" }).length) };
    const { status, body } = await service.post(hook, filled);
    return [status, body.error];
  };
  const tooLarge = (limit: number): unknown => [413, `The body is over the limit of ${limit} bytes.`];
  const { maxBodyBytes } = service.hookline.program().config.hooks;
  expect(await post("sized", { length: 1 }, 1_000_000)).toEqual([202, undefined]);
  expect(await post("sized", { length: 1 }, 1_000_001)).toEqual(tooLarge(1_000_000));
  expect(await post("sized", { length: 1, small: true }, 100)).toEqual([202, undefined]);
  expect(await post("sized", { length: 1, small: true }, 101)).toEqual(tooLarge(100));
  expect(await post("agent", {}, maxBodyBytes + 1)).toEqual(tooLarge(maxBodyBytes));
});
