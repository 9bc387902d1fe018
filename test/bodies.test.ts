/** Kinds of bodies through the whole service: what the agent gets, what is shown and what is replayed. */
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService } from "./support/service.ts";

const CHANNEL_TOKEN = "the-token-of-this-channel";

const SECRET = "a-secret-of-the-sender-0123456789";

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
        presets: ["mail", { use: "mail", with: { path: "small-mail", maxBodyBytes: 1000 } }],
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
          { match: { path: "notes" }, body: "text", messageTemplate: "{{default text subject}}" },
          { match: { path: "log" }, body: "text", forEach: "lines", messageTemplate: "{{item.id}} {{item.text}}" },
          {
            match: { path: "signed" },
            body: "text",
            auth: { scheme: "hmac", secret: SECRET, header: "x-signature" },
            messageTemplate: "{{text}}",
          },
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
  {
    what: "a text",
    hook: "notes",
    type: "text/plain",
    body: "Disk is full\n",
    message: "Disk is full",
    payload: { text: "Disk is full\n" },
  },
  {
    what: "a text in another charset",
    hook: "notes",
    type: "text/plain; charset=ISO-8859-1",
    body: Buffer.from("Gr\u00fc\u00dfe", "latin1"),
    message: "Gr\u00fc\u00dfe",
    payload: { text: "Gr\u00fc\u00dfe" },
  },
  {
    what: "a text with markup",
    hook: "notes",
    type: "text/xml",
    body: "<a>b</a>",
    message: "<a>b</a>",
    payload: { text: "<a>b</a>" },
  },
  {
    what: "JSON for a hook that also takes text",
    hook: "notes",
    type: "application/json",
    body: '{"subject":"JSON"}',
    message: "JSON",
    payload: { subject: "JSON" },
  },
  {
    what: "lines of JSON",
    hook: "log",
    type: "application/x-ndjson",
    body: '{"id":12345678901234567890,"text":"one"}\r\n\n{"id":2}\n',
    message: "12345678901234567890 one",
    payload: { lines: [{ text: "one" }, { id: 2 }] },
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

test.each([
  {
    what: "a line that is not JSON",
    hook: "log",
    type: "application/jsonl",
    body: '{"id":1}\n\n{"id":',
    refusal: "400 Line 3 of the body is not valid JSON.",
  },
  {
    what: "bytes outside of the charset",
    hook: "notes",
    type: "text/plain",
    body: Buffer.from([0xff]),
    refusal: "400 The body is not valid utf-8.",
  },
  {
    what: "an unknown charset",
    hook: "notes",
    type: "text/plain; charset=klingon",
    body: "x",
    refusal: /^415 .* UTF-8/,
  },
  { what: "another type", hook: "notes", type: "application/octet-stream", body: "x", refusal: /^415/ },
  { what: "a text where none is taken", hook: "orders", type: "text/plain", body: "x", refusal: /^415 .* not JSON/ },
  { what: "lines where none are taken", hook: "orders", type: "application/jsonl", body: "1", refusal: /body: "text"/ },
  { what: "a text for wake", hook: "wake", type: "text/plain", body: "x", refusal: /^415 .* not JSON/ },
])("$what is refused", async ({ hook, type, body, refusal }) => {
  const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": type };
  const answer = await fetch(`${service.url}/hooks/${hook}`, { method: "POST", headers, body });
  const { error } = Object(await answer.json());
  expect(`${answer.status} ${error}`).toEqual(typeof refusal === "string" ? refusal : expect.stringMatching(refusal));
});

test("a batch of mails may be larger than other bodies, and its limit can be set", async () => {
  const mails = Array.from({ length: 15 }, (_, index) => ({
    id: `m${index}`,
    from: "a@example.com",
    body: "x".repeat(20_000),
  }));
  const post = async (hook: string) => (await service.post(hook, { source: "test", messages: mails })).status;
  expect(await post("mail")).toBe(202);
  expect(await post("small-mail")).toBe(413);
});

test("the signature of a text is over its bytes", async () => {
  const body = Buffer.from("Gr\u00fc\u00dfe\r\n", "latin1");
  const send = (signed: Buffer | string) => {
    const signature = createHmac("sha256", SECRET).update(signed).digest("hex");
    const headers = { "x-signature": signature, "content-type": "text/plain; charset=iso-8859-1" };
    return fetch(`${service.url}/hooks/signed`, { method: "POST", headers, body });
  };
  expect((await send(body)).status).toBe(202);
  expect((await send(body.toString("latin1"))).status).toBe(401);
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
    const { status: word, error: failure, log, mapping, request, runs } = event;
    const message = runs[0]?.action.message;
    // Its turn may have begun.
    const state = word === "running" ? "waiting" : word;
    const shown = { state, failure, log, isMapped: mapping !== undefined, payload: request.payload, message };
    return { status: answer.status, code, error, ...shown };
  };
  const passed = await sent("passed");
  expect(passed).toEqual(await sent("parsed"));
  expect(passed).toMatchObject({ status });
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
  const { maxBodyBytes } = service.hookline.runtime().config.hooks;
  expect(await post("sized", { length: 1 }, 1_000_000)).toEqual([202, undefined]);
  expect(await post("sized", { length: 1 }, 1_000_001)).toEqual(tooLarge(1_000_000));
  expect(await post("sized", { length: 1, small: true }, 100)).toEqual([202, undefined]);
  expect(await post("sized", { length: 1, small: true }, 101)).toEqual(tooLarge(100));
  expect(await post("agent", {}, maxBodyBytes + 1)).toEqual(tooLarge(maxBodyBytes));
});
