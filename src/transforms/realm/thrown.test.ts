import { expect, test } from "vitest";
import { describeThrown } from "./thrown.ts";

test.each<[() => unknown, string]>([
  [() => new TypeError("no branch"), "TypeError: no branch"],
  [() => ({ name: "Refused", message: "no branch" }), "Refused: no branch"],
  [() => ({ code: 5 }), 'Threw the object {"code":5}.'],
  [() => ["a"], 'Threw the object ["a"].'],
  [() => "no branch", 'Threw the string "no branch".'],
  [() => 5, "Threw the number 5."],
  [() => Symbol("s"), "Threw the symbol Symbol(s)."],
  [() => null, "Threw null."],
  [() => undefined, "Threw undefined."],
  [() => () => 1, "Threw a function."],
  [() => ({ toJSON: () => fail() }), "Threw an object that JSON cannot represent."],
  [() => new Proxy({}, { get: () => fail(), ownKeys: () => fail() }), "Threw an object that JSON cannot represent."],
])("%s", (thrown, message) => {
  expect(describeThrown(thrown()).message).toBe(message);
});

test("a long one is cut", () => {
  expect(describeThrown({ text: "x".repeat(1e6) }).message).toMatch(/^Threw the object .{1975,2000}$/);
});

function fail(): never {
  throw new Error("a trap");
}
