import { expect, test } from "vitest";
import { type Answer, describeThrown, parseAnswers, withoutSecrets } from "./child-answer.ts";

function parseAnswer(text: string, micros?: unknown): Answer {
  return parseAnswers(`[${text}]`, 1, micros)[0]!;
}

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

test("several answers share their run time, and a missing one is invalid", () => {
  expect(parseAnswers('[{"kind":"value","value":1},{"kind":"value","value":2}]', 3, 3000)).toMatchObject([
    { kind: "value", value: 1, runMs: 1 },
    { kind: "value", value: 2, runMs: 1 },
    { kind: "crashed" },
  ]);
});

test("keys that a transform sets are read back as they were, and an unread key has no result", () => {
  const sets = [{ key: "a", json: "1", ttlMs: 5 }, { key: "b" }];
  expect(parseAnswer(JSON.stringify({ kind: "value", value: 1, sets }))).toMatchObject({ value: 1, sets });
  const unread = parseAnswer(JSON.stringify({ kind: "value", value: 1, sets, unread: "a" }));
  expect(unread).toEqual({ kind: "value", unread: "a", log: [], runMs: 0 });
});

test.each([
  [{ key: "" }],
  [{ key: "a\0" }],
  [{ key: 7 }],
  [{ key: "a", json: "{" }],
  [{ key: "a", json: 1 }],
  [{ key: "a", json: `"${"x".repeat(16 * 1024)}"` }],
  [{ key: "a", json: "1", ttlMs: -1 }],
  [{ key: "a", json: "1", ttlMs: 1e300 }],
  [null],
])("a key that no realm would have set is an invalid answer: %j", (set) => {
  expect(parseAnswer(JSON.stringify({ kind: "value", sets: [set] }))).toMatchObject({ kind: "crashed" });
  expect(parseAnswer(JSON.stringify({ kind: "value", sets: set ?? "many" }))).toMatchObject({ kind: "crashed" });
});

test("only the supervisor can say that the sandbox is unavailable", () => {
  expect(parseAnswer('{"kind":"unavailable","message":"m"}').kind).toBe("crashed");
});

test.each([
  ["lists", "[", "]"],
  ["objects", '{"a":', "}"],
])("a result of %s nested too deep for the service is refused", (_, open, close) => {
  const nest = (depth: number): string => `{"kind":"value","value":${open.repeat(depth)}1${close.repeat(depth)}}`;
  expect(parseAnswer(nest(1000))).toMatchObject({ kind: "value" });
  expect(parseAnswer(nest(1001))).toMatchObject({
    kind: "bad_result",
    message: expect.stringContaining("1000 levels"),
  });
  expect(parseAnswer(nest(100_000))).toMatchObject({ kind: "bad_result" });
});

test.each([
  [1500, 1.5],
  [-5, 0],
  ["soon", 0],
])("a run time of %j microseconds counts as %d ms", (micros, runMs) => {
  expect(parseAnswer('{"kind":"value"}', micros)).toMatchObject({ runMs });
});

test("invalid lines of the log are dropped", () => {
  const log = [{ level: "log", text: "a" }, { level: "fatal", text: "b" }, null, { level: "log", text: {} }];
  expect(parseAnswer(JSON.stringify({ kind: "value", value: 1, log }))).toEqual({
    kind: "value",
    value: 1,
    log: [{ level: "log", text: "a" }],
    runMs: 0,
  });
});

test.each([
  ["lines", 5000, "x"],
  ["characters", 50, "x".repeat(10_000)],
])("a log of too many %s is cut", (_, count, text) => {
  const log = Array.from({ length: count }, () => ({ level: "log", text }));
  const answer = parseAnswer(JSON.stringify({ kind: "value", log }));
  expect(answer.log.length).toBeLessThanOrEqual(101);
  expect(JSON.stringify(answer.log).length).toBeLessThan(20_000);
});

test("the values of secrets are replaced in the log, the message and the stack", () => {
  const secrets = { TOKEN: 'top "secret"', PIN: "12" };
  const text = 'top "secret" $& 12';
  const log = [{ level: "log", text: JSON.stringify({ text }) } as const];
  const hidden = withoutSecrets({ kind: "threw", message: text, stack: `Error: ${text}`, log }, secrets);
  expect(hidden).toEqual({
    kind: "threw",
    message: "[secret TOKEN] $& 12",
    stack: "Error: [secret TOKEN] $& 12",
    log: [{ level: "log", text: '{"text":"[secret TOKEN] $& 12"}' }],
  });
});

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
