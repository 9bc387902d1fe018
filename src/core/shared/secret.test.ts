import { expect, test } from "vitest";
import { builtInDrivers } from "../../service/drivers.ts";
import { redact, redactPayload } from "./secret.ts";

const { providers } = builtInDrivers;

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
  "x-functions-key",
  "ocp-apim-subscription-key",
  "x-webhook-key",
  "webhookKey",
  "key",
  "x-twilio-sig",
  "x-otp",
  "otpCode",
  "x-pin",
  "pin",
  "x-csrf",
  "X-XSRF",
  "code",
  "verification_code",
  "access-code",
  "x-line-sign",
  "sign",
  "x-pass",
  "user_pass",
  "pass",
  "passcode",
  "x-pw",
])("the value of %s is redacted", (name) => {
  expect(redact({ [name]: "s3cret" })).toEqual({ [name]: "[redacted]" });
});

test.each([
  "content-type",
  "x-github-event",
  "x-event-key",
  "idempotency-key",
  "issueKey",
  "monkey",
  "keyword",
  "country_code",
  "x-status-code",
  "shipping",
  "signal",
  "design",
  "author",
  "user-agent",
  "x-pass-through",
  "compass",
  "machine",
  "signup",
  "x-side",
])("the value of %s is kept", (name) => {
  expect(redact({ [name]: "value" })).toEqual({ [name]: "value" });
});

test("the header of each signature is redacted", () => {
  const headers = Object.values(providers).flatMap(({ about }) =>
    Array.from(about?.header.matchAll(/`([a-z]\w*-[\w-]*)`/g) ?? [], ([, name = ""]) => name),
  );
  const shown = headers.filter((name) => redact({ [name]: "s3cret" })[name] === "s3cret");
  expect(headers.length).toBeGreaterThan(30);
  expect(shown).toEqual([]);
});

test.each([
  ["https://a.test/b?x=1&token=s3cret#top", "https://a.test/b?x=1&token=[redacted]#top"],
  ["https://a.test/b?code=s3cret&y=2", "https://a.test/b?code=[redacted]&y=2"],
  ["https://a.test/#access_token=s3cret&x=1", "https://a.test/#access_token=[redacted]&x=1"],
  ["https://a.test/?api%5Fkey=s3cret;pin=s3cret", "https://a.test/?api%5Fkey=[redacted];pin=[redacted]"],
  ["/b?sig=s3cret", "/b?sig=[redacted]"],
  ["https://user:s3cret@a.test/b", "https://[redacted]@a.test/b"],
  ['<https://a.test/?page=2&key=s3cret>; rel="next"', '<https://a.test/?page=2&key=[redacted]>; rel="next"'],
  ["https://a.test/b?x=token&%zz=1", "https://a.test/b?x=token&%zz=1"],
])("secrets in the address %s are redacted", (address, redacted) => {
  expect(redact({ referer: address, callback: address })).toEqual({ referer: redacted, callback: redacted });
});

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
