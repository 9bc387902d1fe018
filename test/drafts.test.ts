/** `POST /api/try` with a mapping that is being written. */
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Answer } from "./support/client.ts";
import { GATEWAY_TOKEN, type Service, startService } from "./support/service.ts";

let service: Service;
const payload = { n: 7, name: "x" };
const draft = (fields: object) => trial({ hook: "t", payload, mapping: { id: "one", ...fields } });

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
    transform: {
      module: "double.ts",
      file: path.join(service.folder, "transforms/double.ts"),
      files: { "double.ts": expect.stringContaining("twice("), "lib.ts": expect.stringContaining("export") },
    },
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

test("a name with dots that is not in brackets is explained", async () => {
  const messageTemplate =
    "{{n}}{{labels.app.name}}{{payload.labels.app.name}}{{labels.other.name}}{{labels.[app.name]}}";
  const labels = { "app.name": "web" };
  const { body } = await trial({ hook: "t", payload: { n: 7, labels }, mapping: { id: "one", messageTemplate } });
  expect(body).toMatchObject({
    actions: [{ message: "7web" }],
    warnings: ["labels.app.name", "payload.labels.app.name"].map(
      (name) => `{{${name}}} has no value: a name that has dots is written in brackets: {{labels.[app.name]}}.`,
    ),
  });
});

test("of a new mapping, and of one whose fields are removed", async () => {
  const fields = { id: "new", match: { path: "t" }, messageTemplate: "new {{name}}" };
  expect((await trial({ hook: "t", payload, mapping: fields })).body).toMatchObject({
    actions: [{ message: "new x" }],
  });
  expect((await draft({ messageTemplate: null })).body).toMatchObject({ ok: false, code: "empty_message" });
});

test("a mapping is shown with its references as they are written, and a draft of it has their values", async () => {
  service.write("pass", "value-of-the-pass");
  service.write("words", "value-of-the-words");
  const own = { id: "own", match: { path: "own", headers: { "x-pass": "${file:pass}" } }, messageTemplate: "m" };
  const preset = { use: "generic", with: { instructions: "Say ${file:words}", ignore: { values: ["${file:words}"] } } };
  await service.reload({ hooks: { mappings: [own], presets: [preset] } });
  const shown = [await service.api("/api/mappings")];
  const ofPreset = shown[0].mappings[1].id;
  for (const id of ["own", ofPreset]) shown.push(await service.api(`/api/mappings/${id}/source`));
  expect(JSON.stringify(shown)).not.toContain("value-of-the");
  expect(shown[0].mappings[0].match).toEqual(own.match);
  expect(shown[1]).toMatchObject({ fields: own });
  expect(shown[2].fields.instructions).toBe("Say ${file:words}");

  const draftOf = async (id: string, fields: object, headers = {}) =>
    (
      await trial({
        hook: id.replace(/-.*/, ""),
        payload: { text: "t", status: "ok" },
        mapping: { id, ...fields },
        headers,
      })
    ).body;
  const changed = { match: own.match, messageTemplate: "draft" };
  expect(await draftOf("own", changed, { "x-pass": "value-of-the-pass" })).toMatchObject({
    actions: [{ message: "draft" }],
  });
  expect(await draftOf("own", changed, { "x-pass": "${file:pass}" })).toMatchObject({ ok: true, actions: [] });
  const other = { instructions: "Say ${file:pass}" };
  expect(await draftOf(ofPreset, other)).toMatchObject({ actions: [other] });
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
      files: {
        "double.ts": `import { twice } from "./lib.ts";\nexport default ({ payload, secrets }) => {\n${body}\n};`,
      },
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

test("gives code that was sent placeholders of the transform's secrets, in a trial and in a comparison", async () => {
  const code = "export default ({ secrets }) => ({ message: JSON.stringify(secrets) });";
  const change = { mapping: { id: "two" }, files: { "double.ts": code } };
  const tried = await trial({ hook: "u", payload, ...change });
  expect(tried.body).toMatchObject({ actions: [{ message: '{"KEY":"placeholder-of-KEY"}' }] });
  await service.post("u", payload);
  const compared = await ask("/api/diff", { since: "1h", ...change });
  expect(compared.body).toMatchObject({ events: 1, changed: 1 });
  expect(JSON.stringify([tried, compared])).not.toContain("secret-of-the-transform");
});

test("does not tell whether a file exists, or what it holds", async () => {
  service.write("text.json", "no JSON");
  service.write("schema.json", '{"required":["none"]}');
  const ofSchema = async (schema: string) =>
    (await draft({ schema })).body.problems?.[0].message.replaceAll(schema, "");
  const refusals = await Promise.all(
    ["/etc/passwd", "/etc/none", "/proc/self/environ", "webhooks.json5", "text.json", "none.json"].map(ofSchema),
  );
  expect(refusals[0]).toContain("in a draft it must be valid JSON in a .json file below");
  expect(new Set(refusals).size).toBe(1);
  expect((await draft({ schema: "schema.json" })).body).toMatchObject({ code: "invalid_payload" });
});

test("of modules that are in no file, each with what it imports", async () => {
  const files = {
    "begun.ts":
      'import { shout } from "./begun/loud.ts";\nimport { twice } from "./lib.ts";\nexport default ({ payload }) => ({ message: shout(twice(payload.n)) });',
    "begun/loud.ts": "export const shout = (n: number) => `${n}!`;",
  };
  const mapping = "{ id: 'begun', // new\n match: { path: 'begun' } }";
  const tried = await trial({ hook: "begun", payload, mapping, files });
  expect(tried.body).toMatchObject({ ok: true, mapping: "begun", actions: [{ message: "14!" }] });
  // One that is there is replaced, also where another imports it.
  const twice = "export const twice = (n: number) => n * 200;";
  const both = await trial({ hook: "u", payload, mapping: { id: "two" }, files: { "lib.ts": twice } });
  expect(both.body).toMatchObject({ actions: [{ message: "1400" }] });
  const outside = await trial({
    hook: "begun",
    payload,
    mapping,
    files: { "../out.ts": "export default () => null;" },
  });
  expect(outside.body).toMatchObject({ ok: false, code: "invalid_mapping" });
  expect(await service.try("u", payload)).toMatchObject({ actions: [{ message: "14" }] });
});

test("as a text is the whole mapping, and its problems have their places", async () => {
  const ofText = async (text: string) => (await trial({ hook: "t", payload, mapping: text })).body;
  expect(await ofText("{ id: 'one', match: { path: 't' }, messageTemplate: 'text {{n}}' }")).toMatchObject({
    actions: [{ message: "text 7" }],
  });
  expect(await ofText("{ id: 'one',\n  match: { path: 't' } }")).toMatchObject({ code: "empty_message" });
  expect((await ofText("{ id: 'one',\n  color: 'red' }")).problems).toMatchObject([{ key: "color", line: 2 }]);
  expect((await ofText("{ id: 'one',\n  match: }")).problems).toMatchObject([{ line: 2 }]);
  expect((await ofText("{ match: {} }")).problems).toMatchObject([{ key: "id" }]);
});

test("stays in the sandbox", async () => {
  const code = (text: string) => trial({ hook: "u", payload, mapping: { id: "two" }, files: { "double.ts": text } });
  expect((await code('import "node:fs"; export default () => null;')).body.problems).toMatchObject([
    { message: expect.stringContaining("part of Node") },
  ]);
  expect((await code('import "../webhooks.json5"; export default () => null;')).body.ok).toBe(false);
  const escape = "export default () => ({ message: typeof process + typeof fetch + typeof Buffer });";
  expect((await code(escape)).body).toMatchObject({ actions: [{ message: "undefinedundefinedundefined" }] });
  expect((await code("export default () => { for (;;); };")).body).toMatchObject({ code: "transform_failed" });
  expect(await service.try("u", payload)).toMatchObject({ actions: [{ message: "14" }] });
});

function trial(body: unknown): Promise<Pick<Answer, "status" | "body">> {
  return ask("/api/try", body);
}

async function ask(at: string, body: unknown): Promise<Pick<Answer, "status" | "body">> {
  const response = await fetch(`${service.url}${at}`, {
    method: "POST",
    headers: { authorization: `Bearer ${GATEWAY_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}
