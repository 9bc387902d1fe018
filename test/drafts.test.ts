/** `POST /api/try` with a mapping that is being written. */
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Answer } from "./support/client.ts";
import { GATEWAY_TOKEN, type Service, startService } from "./support/service.ts";

let service: Service;
const payload = { n: 7, name: "x" };
const draft = (fields: object, code?: string) => trial({ hook: "t", payload, mapping: { id: "one", ...fields }, code });

beforeEach(async () => {
  const transform = { module: "double.ts", secrets: { KEY: "secret-of-the-transform" } };
  const mappings = [
    { id: "one", match: { path: "t" }, messageTemplate: "loaded {{n}}" },
    { id: "two", match: { path: "u" }, transform },
  ];
  const double = `import { twice } from "./lib.ts";
export default ({ payload }) => ({ message: String(twice(payload.n)) });`;
  const lib = "export const twice = (n: number): number => 2 * n;";
  service = await startService({
    config: { hooks: { mappings } },
    files: { "transforms/double.ts": double, "transforms/lib.ts": lib },
  });
});

afterEach(() => service.close());

test("starts from the source of a mapping, without its secrets", async () => {
  service.write("transforms/double.samples/one.json", '{"n":1}');
  service.write("transforms/double.samples/one.request.json", '{"headers":{"x-a":"b"}}');
  expect(await service.api("/api/mappings/two/source")).toEqual({
    id: "two",
    file: path.join(service.folder, "webhooks.json5"),
    key: "hooks.mappings[1]",
    fields: { id: "two", match: { path: "u" } },
    transform: { file: path.join(service.folder, "transforms/double.ts"), code: expect.stringContaining("twice(") },
    samples: [{ name: "one", payload: { n: 1 }, headers: { "x-a": "b" } }],
  });
});

test("gives the actions of the fields over those of the loaded mapping, which stays as it is", async () => {
  expect((await draft({ messageTemplate: "draft {{n}}", name: "N" })).body).toMatchObject({
    ok: true,
    mapping: "one",
    actions: [{ message: "draft 7", name: "N" }],
  });
  expect((await draft({ match: { path: "other" } })).status).toBe(404);
  expect(await service.try("t", payload)).toMatchObject({ actions: [{ message: "loaded 7" }] });
  expect(await service.api("/api/events")).toEqual({ events: [] });
});

test("of a new mapping, and of one whose fields are removed", async () => {
  const fields = { id: "new", match: { path: "t" }, messageTemplate: "new {{name}}" };
  expect((await trial({ hook: "t", payload, mapping: fields })).body).toMatchObject({
    actions: [{ message: "new x" }],
  });
  expect((await draft({ messageTemplate: null })).body).toMatchObject({ ok: false, code: "empty_message" });
});

test("that cannot be used names all problems", async () => {
  const { status, body } = await draft({ messageTemplate: "{{#if}}", color: "red" });
  expect(status).toBe(400);
  expect(body).toMatchObject({ ok: false, code: "invalid_mapping", problems: [{ key: "color" }] });
  expect((await draft({ messageTemplate: "{{n" })).body.problems).toMatchObject([{ key: "mapping.messageTemplate" }]);
  expect((await draft({ auth: { scheme: "github", secret: "x" } })).body.problems).toMatchObject([{ key: "auth" }]);
  expect((await draft({ transform: { module: "/etc/passwd" } })).body.problems).toMatchObject([{ key: "transform" }]);
});

test("runs the code instead of the module's, with its imports, and says where it fails", async () => {
  const code = (body: string) =>
    trial({
      hook: "u",
      payload,
      mapping: { id: "two" },
      code: `import { twice } from "./lib.ts";\nexport default ({ payload, secrets }) => {\n${body}\n};`,
    });
  const tried = await code("console.log(payload.n); return { message: `draft ${twice(payload.n)}` };");
  expect(tried.body).toMatchObject({ actions: [{ message: "draft 14" }], log: [{ text: "7" }] });
  expect((await code("return {{")).body.problems).toMatchObject([{ line: 3, column: 9 }]);
  expect((await code("payload.none.of")).body).toMatchObject({
    code: "transform_failed",
    detail: expect.stringContaining("double.ts:3:"),
  });
  const told = await code("throw new Error(secrets.KEY)");
  expect(JSON.stringify(told.body)).not.toContain("secret-of-the-transform");
  expect(await service.try("u", payload)).toMatchObject({ actions: [{ message: "14" }] });
});

test("stays in the sandbox", async () => {
  const code = (text: string) => trial({ hook: "u", payload, mapping: { id: "two" }, code: text });
  expect((await code('import "node:fs"; export default () => null;')).body.problems).toMatchObject([
    { message: expect.stringContaining("part of Node") },
  ]);
  expect((await code('import "../webhooks.json5"; export default () => null;')).body.ok).toBe(false);
  const escape = "export default () => ({ message: typeof process + typeof fetch + typeof require });";
  expect((await code(escape)).body).toMatchObject({ actions: [{ message: "undefinedundefinedundefined" }] });
  expect((await code("export default () => { for (;;); };")).body).toMatchObject({ code: "transform_failed" });
  expect(await service.try("u", payload)).toMatchObject({ actions: [{ message: "14" }] });
});

async function trial(body: unknown): Promise<Pick<Answer, "status" | "body">> {
  const response = await fetch(`${service.url}/api/try`, {
    method: "POST",
    headers: { authorization: `Bearer ${GATEWAY_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}
