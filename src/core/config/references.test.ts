import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { resolveReferences } from "./references.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-references-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const resolve = (value: unknown, env: NodeJS.ProcessEnv = { NAME: "value", EMPTY: "", _a1: "x" }) =>
  resolveReferences(value, { env, baseDir: folder });

test.each([
  ["${NAME}", "value"],
  ["a ${NAME}${_a1} b", "a valuex b"],
  ["[${EMPTY}]", "[]"],
  ["$${NAME}", "${NAME}"],
  ["${NAME:-other}", "value"],
  ["${EMPTY:-other}", "other"],
  ["${UNSET:-http://a:1/-x} b", "http://a:1/-x b"],
  ["[${UNSET:-}]", "[]"],
  ["$${UNSET:-x}", "${UNSET:-x}"],
  ["$${file:gone}", "${file:gone}"],
  ["$NAME ${1} ${a-b} ${file:} {{NAME}} $", "$NAME ${1} ${a-b} ${file:} {{NAME}} $"],
])("%s becomes %s", (text, expected) => {
  expect(resolve(text)).toMatchObject({ value: expected, problems: [], files: [] });
});

test("strings are replaced wherever they stand, keys and other types are not", () => {
  const value = { list: ["${NAME}", { deep: "${NAME}" }], "${NAME}": 1, no: null, yes: true };
  expect(resolve(value).value).toEqual({
    list: ["value", { deep: "value" }],
    "${NAME}": 1,
    no: null,
    yes: true,
  });
});

test("a value that looks like a number stays a string", () => {
  expect(resolve({ port: "${PORT}" }, { PORT: "8080" }).value).toEqual({ port: "8080" });
});

test("every unset variable is named, with its key", () => {
  expect(resolve({ a: [{ b: "${NO_1} ${NO_2}" }] }).problems).toEqual([
    { key: "a[0].b", message: "The environment variable NO_1 is not set. Set it." },
    { key: "a[0].b", message: "The environment variable NO_2 is not set. Set it." },
  ]);
});

test("what is undefined is left out, __proto__ stays a key", () => {
  expect(resolve({ a: undefined, b: 1 }).value).toStrictEqual({ b: 1 });
  const { value } = resolve(JSON.parse('{"__proto__": {"x": 1}}'));
  expect(Object.keys(value ?? {})).toEqual(["__proto__"]);
});

describe("${file:PATH}", () => {
  test.each([
    ["secret\n", "secret"],
    ["secret\r\n", "secret"],
    ["two\nlines\n\n", "two\nlines\n"],
    ["", ""],
    ["$& ${NAME} ä", "$& ${NAME} ä"],
  ])("%j gives %j", (text, expected) => {
    writeFileSync(path.join(folder, "secret"), text);
    const file = path.join(folder, "secret");
    expect(resolve("${file:secret}")).toMatchObject({ value: expected, problems: [], files: [file] });
    expect(resolve(`<\${file:${file}}>`).value).toBe(`<${expected}>`);
  });

  test("a link to a file is the file, as containers mount their secrets", () => {
    writeFileSync(path.join(folder, "real"), "secret");
    symlinkSync("real", path.join(folder, "link"));
    expect(resolve("${file:./link}").value).toBe("secret");
  });

  test.each([
    ["gone", () => {}, /ENOENT/],
    [".", () => {}, /EISDIR|not a regular file/],
    ["pipe", (file: string) => execFileSync("mkfifo", [file]), /not a regular file/],
    ["long", (file: string) => writeFileSync(file, "hunter2".repeat(10_000)), /over 65536 bytes/],
    ["binary", (file: string) => writeFileSync(file, Buffer.from("hunter2\xff", "latin1")), /not UTF-8/],
  ])("%s is a problem that names key and path, and nothing of the content", (name, make, reason) => {
    make(path.join(folder, name));
    const { value, problems, files } = resolve({ hooks: { token: `\${file:${name}}` } });
    expect(value).toEqual({ hooks: { token: `\${file:${name}}` } });
    expect(files).toEqual([path.join(folder, name)]);
    expect(problems).toEqual([{ key: "hooks.token", message: expect.stringMatching(reason) }]);
    expect(problems[0]?.message).toContain(path.join(folder, name));
    expect(JSON.stringify(problems)).not.toContain("hunter2");
  });

  test("a file that is not written yet counts with the text that it will have", () => {
    const unwritten = new Map([[path.join(folder, "new"), "secret\n"]]);
    expect(resolveReferences("${file:new}", { env: {}, baseDir: folder, unwritten }).value).toBe("secret");
  });
});
