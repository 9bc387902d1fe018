/** Numbers that JavaScript rounds are exact wherever they are written. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseExact } from "../src/core/shared/exact-json.ts";
import { runWebhooks } from "./support/cli.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService } from "./support/service.ts";

const ID = "12345678901234567890";
const NEXT = "12345678901234567891";
const BODY = `{"id":${ID},"ids":[${ID},${NEXT}],"list":[{"id":${ID}},{"id":${NEXT}}],"huge":1e400,"third":0.33333333333333333333,"one":1.0,"small":7,"secret":"s"}`;

const messages: Record<string, string> = {
  "{{id}}": ID,
  "{{payload.id}} {{@root.payload.id}}": `${ID} ${ID}`,
  "{{#each list}}{{id}}/{{../id}} {{/each}}.": `${ID}/${ID} ${NEXT}/${ID} .`,
  "{{#with list.[1]}}{{id}}{{/with}} {{lookup ids 1}}": `${NEXT} ${NEXT}`,
  "{{json list}}": `[{"id":${ID}},{"id":${NEXT}}]`,
  "{{list}} {{join ids '/'}}": `[{"id":${ID}},{"id":${NEXT}}] ${ID}/${NEXT}`,
  "{{default missing id}} {{upper id}} {{truncate id 30}}": `${ID} ${ID} ${ID}`,
  "{{huge}} {{json huge}} {{third}} {{one}} {{small}}": "1e400 1e400 0.33333333333333333333 1 7",
  "{{#if (eq list.[0].id list.[1].id)}}same{{/if}} {{#if id}}{{id}}{{/if}}": `same ${ID}`,
  "{{id.length}}{{id.text}}{{#each id}}x{{/each}}{{id}}": ID,
};

let service: Service;
beforeAll(async () => {
  const templates = Object.keys(messages).map((messageTemplate, index) => ({
    match: { path: `t${index}` },
    messageTemplate,
    deliver: false,
  }));
  const mappings = [
    ...templates,
    { match: { path: "each" }, forEach: "list", messageTemplate: "{{index}} {{item.id}}", sessionKey: "k:{{item.id}}" },
    { match: { path: "scalars" }, forEach: "ids", messageTemplate: "{{item}}" },
    {
      match: { path: "narrow" },
      forEach: "list",
      forEachNarrows: true,
      messageTemplate: "{{list.[0].id}} {{json list}}",
    },
    { match: { path: "file" }, messageTemplate: "{{id}} {{files.[0].name}}" },
    { match: { path: "base" }, messageTemplate: "{{id}}", transform: { module: "base.ts" } },
    { match: { path: "exact", payload: { id: ID } }, messageTemplate: "exact" },
    { match: { path: "exact" }, messageTemplate: "other" },
    { id: "dedupe", match: { path: "dedupe" }, dedupe: "{{id}}", messageTemplate: "x" },
  ];
  const files = {
    "transforms/base.ts":
      "export default ({ payload, base }: any) => ({ message: `${base.message} ${typeof payload.id}` });",
  };
  service = await startService({ config: { hooks: { mappings, redact: ["$.secret"] } }, files });
});
afterAll(() => service.close());

const toMultipart = (json: string) => `--x\r\nContent-Disposition: form-data; name="payload"\r\n\r\n${json}\r\n--x--`;

async function messagesOf(hook: string, body = BODY): Promise<string[]> {
  const { actions, detail } = await service.try(hook, parseExact(body));
  return actions?.map(({ message }: { message: string }) => message) ?? [detail];
}

async function send(hook: string, body: string, type = "application/json"): Promise<string> {
  const headers = { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": type };
  const response = await fetch(`${service.url}/hooks/${hook}`, { method: "POST", headers, body });
  return Object(await response.json()).eventId;
}

const read = async (place: string) =>
  (await fetch(service.url + place, { headers: { authorization: `Bearer ${GATEWAY_TOKEN}` } })).text();

describe("a template writes them as they came", () => {
  test.each(Object.entries(messages).map(([template, text], index) => [template, `t${index}`, text]))(
    "%s",
    async (_template, hook, text) => {
      expect(await messagesOf(hook ?? "")).toEqual([text]);
    },
  );

  test("for each item, and in its session key", async () => {
    const { actions } = await service.try("each", parseExact(BODY));
    expect(actions).toMatchObject([
      { message: `0 ${ID}`, sessionKey: `k:${ID}` },
      { message: `1 ${NEXT}`, sessionKey: `k:${NEXT}` },
    ]);
    expect(await messagesOf("scalars")).toEqual([ID, NEXT]);
    expect(await messagesOf("narrow")).toEqual([`${ID} [{"id":${ID}}]`, `${NEXT} [{"id":${NEXT}}]`]);
  });

  test("for a transform, which itself gets numbers", async () => {
    expect(await messagesOf("base")).toEqual([`${ID} number`]);
  });

  test.each([
    ["a form", `payload=${encodeURIComponent(BODY)}`, "application/x-www-form-urlencoded"],
    ["a multipart form", toMultipart(BODY), "multipart/form-data; boundary=x"],
    ["a body with a byte order mark", `\ufeff${BODY}`, "application/json"],
    ["a form in name only, with a byte order mark", `\ufeff${BODY}`, "application/x-www-form-urlencoded"],
    ["a text with a byte order mark", `\ufeff${BODY}`, "text/plain"],
  ])("from %s that holds JSON", async (_what, body, type) => {
    const id = await send("t0", body, type);
    expect((await service.settled(id)).runs[0].action.message).toBe(ID);
    expect(await read(`/api/events/${id}`)).toContain(`"id":${ID}`);
  });

  test("from a multipart form beside its files", async () => {
    const file = 'Content-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\nhello\r\n--x';
    const id = await send("file", toMultipart(BODY).replace(/--$/, `\r\n${file}--`), "multipart/form-data; boundary=x");
    expect((await service.settled(id)).runs[0].action.message).toBe(`${ID} a.txt`);
  });

  test("so two keys differ", async () => {
    const first = await send("dedupe", `{"id":${ID}}`);
    expect(await send("dedupe", `{"id":${NEXT}}`)).not.toBe(first);
    expect(await send("dedupe", `{"id":${ID}}`)).toBe(first);
  });
});

test("match.payload compares the text of a number as it came", async () => {
  expect(await messagesOf("exact")).toEqual(["exact"]);
  expect(await messagesOf("exact", `{"id":${NEXT}}`)).toEqual(["other"]);
});

describe("an event shows them as they came", () => {
  test("without what was redacted, in the API, its export and the stored bytes", async () => {
    const id = await send("t0", BODY);
    const stored = BODY.replace('"secret":"s"', '"secret":"[redacted]"').replace("1.0", "1");
    for (const place of [`/api/events/${id}`, "/api/events/export", `/api/events/${id}/body`]) {
      expect(await read(place)).toContain(stored);
    }
  });

  test("and the bytes as they came", async () => {
    const body = '{ "id" : 1.0 }';
    const id = await send("t0", body);
    expect(await read(`/api/events/${id}/body`)).toBe(body);
    const answer = await fetch(`${service.url}/api/events/${id}/body`, {
      headers: { authorization: `Bearer ${GATEWAY_TOKEN}` },
    });
    expect(answer.headers.get("content-disposition")).toBe("attachment");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("in a replay, also with another payload", async () => {
    const id = await send("t0", BODY);
    const replay = async (body: string) => {
      const headers = { authorization: `Bearer ${GATEWAY_TOKEN}`, "content-type": "application/json" };
      const response = await fetch(`${service.url}/api/events/${id}/replay`, { method: "POST", headers, body });
      return (await service.settled(Object(await response.json()).eventId)).runs[0].action.message;
    };
    expect(await replay("{}")).toBe(ID);
    expect(await replay(`{"payload":{"id":${NEXT}}}`)).toBe(NEXT);
    expect(await replay(`\ufeff{"payload":{"id":${NEXT}}}`)).toBe(NEXT);
  });

  test("in commands and samples", async () => {
    await send("t0", `{"id":${NEXT}}`);
    const ask = (...args: string[]) => runWebhooks(service.folder, ...args, "--url", service.url);
    expect((await ask("events", "show", "last")).stdout).toContain(`"id": ${NEXT}`);
    expect((await ask("events", "save", "last", "--name", "long")).code).toBe(0);
    const sample = path.join(service.folder, "transforms/t0.samples/long");
    expect(readFileSync(`${sample}.json`, "utf8")).toContain(`"id": ${NEXT}`);
    expect(readFileSync(`${sample}.expected.json`, "utf8")).toContain(`"message": "${NEXT}"`);
  });
});
