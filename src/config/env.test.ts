import { expect, test } from "vitest";
import { substituteEnv } from "./env.ts";

const substitute = (value: unknown) => substituteEnv(value, { NAME: "value", EMPTY: "", _a1: "x" });

test.each([
  ["${NAME}", "value"],
  ["a ${NAME}${_a1} b", "a valuex b"],
  ["[${EMPTY}]", "[]"],
  ["$${NAME}", "${NAME}"],
  ["$NAME ${1} ${a-b} {{NAME}} $", "$NAME ${1} ${a-b} {{NAME}} $"],
])("%s becomes %s", (text, expected) => {
  expect(substitute(text)).toEqual({ value: expected, problems: [] });
});

test("strings are replaced wherever they stand, keys and other types are not", () => {
  const value = { list: ["${NAME}", { deep: "${NAME}" }], "${NAME}": 1, no: null, yes: true };
  expect(substitute(value).value).toEqual({
    list: ["value", { deep: "value" }],
    "${NAME}": 1,
    no: null,
    yes: true,
  });
});

test("a value that looks like a number stays a string", () => {
  expect(substituteEnv({ port: "${PORT}" }, { PORT: "8080" }).value).toEqual({ port: "8080" });
});

test("every unset variable is named, with its key", () => {
  expect(substitute({ a: [{ b: "${NO_1} ${NO_2}" }] }).problems).toEqual([
    { key: "a[0].b", message: "the environment variable NO_1 is not set" },
    { key: "a[0].b", message: "the environment variable NO_2 is not set" },
  ]);
});

test("what is undefined is left out, __proto__ stays a key", () => {
  expect(substitute({ a: undefined, b: 1 }).value).toStrictEqual({ b: 1 });
  const { value } = substitute(JSON.parse('{"__proto__": {"x": 1}}'));
  expect(Object.keys(value ?? {})).toEqual(["__proto__"]);
});
