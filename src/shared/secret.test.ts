import { expect, test } from "vitest";
import { redact, redactPayload } from "./secret.ts";

test.each([
  "authorization",
  "x-hub-signature-256",
  "api_key",
  "X_API_KEY",
  "api.key",
  "apiKey",
  "access_key",
  "passwd",
  "jwt",
  "sig",
  "x-auth",
  "authorisation",
  "session_id",
])("the value of %s is redacted", (name) => {
  expect(redact({ [name]: "s3cret" })).toEqual({ [name]: "[redacted]" });
});

test.each(["content-type", "x-github-event", "key", "design", "author", "user-agent"])(
  "the value of %s is kept",
  (name) => {
    expect(redact({ [name]: "value" })).toEqual({ [name]: "value" });
  },
);

test.for([
  [["password"], { password: "x", user: "u" }, { password: "[redacted]", user: "u" }],
  [["a", "b"], { a: { b: { c: 1 }, d: 2 } }, { a: { b: "[redacted]", d: 2 } }],
  [
    ["users", "*", "token"],
    { users: [{ token: 1, id: 1 }, { id: 2 }] },
    { users: [{ token: "[redacted]", id: 1 }, { id: 2 }] },
  ],
  [["1"], ["a", "b"], ["a", "[redacted]"]],
  [["env", "*"], { env: { A: "1", B: null } }, { env: { A: "[redacted]", B: "[redacted]" } }],
  [["*", "pin"], { a: { pin: 1 }, b: [] }, { a: { pin: "[redacted]" }, b: [] }],
  [[], "the whole", "[redacted]"],
])("%j", ([path, payload, expected]) => {
  const before = JSON.stringify(payload);
  expect(redactPayload(payload, [path as string[]])).toEqual(expected);
  expect(JSON.stringify(payload)).toBe(before);
});

test("returns the same value if no path matches", () => {
  const payload = { a: [{ b: 1 }], text: "x" };
  const paths = [["c"], ["a", "*", "c"], ["a", "5"], ["text", "length"], ["constructor", "name"]];
  expect(redactPayload(payload, paths)).toBe(payload);
});

test("applies several paths, also to an own key named __proto__", () => {
  const payload: unknown = JSON.parse('{ "__proto__": { "pin": 1 }, "pin": 2 }');
  const redacted = redactPayload(payload, [["__proto__", "pin"], ["pin"]]);
  expect(JSON.stringify(redacted)).toBe('{"__proto__":{"pin":"[redacted]"},"pin":"[redacted]"}');
});
