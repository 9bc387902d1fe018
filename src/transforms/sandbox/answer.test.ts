import { expect, test } from "vitest";
import { parseAnswer } from "./answer.ts";

test.each(["", "null", "[]", "{", '"x"', '{"kind":"made up"}', '{"kind":"threw","message":7,"stack":{}}'])(
  "%s makes no sense, and says so",
  (text) => {
    expect(parseAnswer(text)).toMatchObject({
      message: expect.stringContaining("no sense"),
      stack: "",
      log: [],
    });
  },
);

test("a child cannot say that it is not available: that is the supervisor's to say", () => {
  expect(parseAnswer('{"kind":"unavailable","message":"m"}').kind).toBe("crashed");
});

test("lines of the log that are none are dropped", () => {
  const log = [{ level: "log", text: "a" }, { level: "fatal", text: "b" }, null, { level: "log", text: {} }];
  expect(parseAnswer(JSON.stringify({ kind: "value", value: 1, log }))).toEqual({
    kind: "value",
    value: 1,
    log: [{ level: "log", text: "a" }],
  });
});
