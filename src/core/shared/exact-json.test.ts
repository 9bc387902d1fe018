import { expect, test } from "vitest";
import { ExactNumber, findExact, mayBeRounded, parseExact } from "./exact-json.ts";

test.each([
  "12345678901234567890",
  "-9007199254740993",
  "9007199254740991.5",
  "0.12345678901234567891",
  "0.30000000000000004",
  "1e400",
  "-1e400",
  "100000000000000000000000",
  '{"a":[1,{"b":12345678901234567890}],"c":"12345678901234567890"}',
  "[12345678901234567890,12345678901234567891]",
])("%s is written as it came", (json) => {
  expect(JSON.stringify(findExact(json))).toBe(json);
});

test.each(["1", "1.0", "1e22", "123456789012345", "0.000000000000000000001", '{"id":"12345678901234567890"}', "null"])(
  "%s has no number that is rounded",
  (json) => {
    expect(findExact(json)).toBeUndefined();
    expect(parseExact(json)).toEqual(JSON.parse(json));
  },
);

test.each([Infinity, 2 ** 70, 1e21, 2 ** 53, [1, 0.1 + 0.2], { a: -Infinity }])(
  "the text of %j may be rounded",
  (value) => {
    expect(mayBeRounded(JSON.stringify(value))).toBe(true);
  },
);

test.each([1, 0.5, 1e-7, "1234567890123456", ["1767603600.000100"], { a: "nullify" }])(
  "the text of %j is not",
  (value) => {
    expect(mayBeRounded(JSON.stringify(value))).toBe(false);
  },
);

test("an exact number is a number in arithmetic, and has its text", () => {
  const number = new ExactNumber("9007199254740993");
  expect(Number(number)).toBe(2 ** 53);
  expect(String(number)).toBe("9007199254740993");
});
