import { expect, test } from "vitest";
import { parseAnswer } from "./answer.ts";

test.each(["", "null", "[]", "{", '"x"', '{"kind":"made up"}', '{"kind":"threw","message":7,"stack":{}}'])(
  "%s is invalid, and the answer says so",
  (text) => {
    expect(parseAnswer(text)).toMatchObject({
      message: expect.stringContaining("invalid answer"),
      stack: "",
      log: [],
    });
  },
);

test("only the supervisor can say that the sandbox is unavailable", () => {
  expect(parseAnswer('{"kind":"unavailable","message":"m"}').kind).toBe("crashed");
});

test("invalid lines of the log are dropped", () => {
  const log = [{ level: "log", text: "a" }, { level: "fatal", text: "b" }, null, { level: "log", text: {} }];
  expect(parseAnswer(JSON.stringify({ kind: "value", value: 1, log }))).toEqual({
    kind: "value",
    value: 1,
    log: [{ level: "log", text: "a" }],
  });
});
