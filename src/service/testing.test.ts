import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { createInput, runTransform } from "./testing.ts";

const folder = mkdtempSync(path.join(tmpdir(), "hookline-testing-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("gives result, log and state of a call in the sandbox", async () => {
  const file = write(
    "count.ts",
    `export default ({ payload, base, state, secrets, event, now, headers }) => {
      console.warn(typeof process, headers["x-shop"]);
      const count = (state.get("count") ?? 0) + 1;
      state.set("count", count);
      state.set("gone", undefined);
      return { message: [base.message, payload.id, count, secrets.key, event, now].join() };
    };`,
  );
  const given = { count: 2, gone: 1, kept: { a: [1] } };
  const run = await runTransform(file, {
    payload: { id: 7 },
    base: { message: "m" },
    state: given,
    secrets: { key: "k" },
    event: "push",
    now: "2026-02-03T04:05:06.000Z",
    headers: { "x-shop": "s" },
  });
  expect(run).toEqual({
    result: { message: "m,7,3,k,push,2026-02-03T04:05:06.000Z" },
    log: [{ level: "warn", text: "undefined s" }],
    state: { count: 3, kept: { a: [1] } },
  });
  expect(given).toEqual({ count: 2, gone: 1, kept: { a: [1] } });
});

test.each([
  ["null", null],
  ["undefined", undefined],
  ["[{ text: 'a' }, null]", [{ text: "a" }, null]],
])("a result of %s is given as it is", async (code, result) => {
  const file = write("plain.ts", `export const other = () => (${code});`);
  expect(await runTransform(file, { export: "other" })).toEqual({ result, log: [], state: {} });
});

test("a module may import what is in the folder of its types, and is named by a URL too", async () => {
  write("kept/hookline.d.ts", "");
  write("kept/lib/text.ts", "export const text = 'from the library';");
  const source = 'import { text } from "../lib/text.ts"; export default () => ({ message: text });';
  const file = write("kept/deep/own.ts", source);
  expect(await runTransform(pathToFileURL(file).href)).toMatchObject({ result: { message: "from the library" } });
  const outside = write("deep/own.ts", source.replace("../lib", "../kept/lib"));
  await expect(runTransform(outside)).rejects.toThrow("text.ts");
});

test.each([
  ["export default () => ({ mesage: 'x' });", 'did you mean "message"?'],
  ["export default () => { throw new Error('not today'); };", "not today"],
  ["export default ({ state }) => { state.get('x'); };", "undefined"],
  ["export default () => { for (;;); };", "1000 ms"],
  ["export default (", "Unexpected end of file"],
  ["export const x = 1;", "export"],
])("%s fails as in the service", async (code, reason) => {
  await expect(runTransform(write("wrong.ts", code))).rejects.toThrow(reason);
});

test("an input for a call of the function itself is complete, and keeps its own state", () => {
  const given = { held: [1] };
  const input = createInput({ payload: { id: 7 }, hook: "ci", state: given });
  expect(input).toMatchObject({ payload: { id: 7 }, rawBody: '{"id":7}', hook: "ci", headers: {}, base: {} });
  input.state.set("held", [2]);
  expect([input.state.get("held"), input.state.get("other"), given.held]).toEqual([[2], undefined, [1]]);
  expect(createInput().state).toBeUndefined();
});

function write(name: string, text: string): string {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}
