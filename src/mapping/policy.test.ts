import { expect, test } from "vitest";
import { toConfig } from "../../test/support/mapping.ts";
import { resolveModel, resolveSessionKey } from "./policy.ts";

const open = toConfig().hooks;
const closed = toConfig({ hooks: { allowRequestSessionKey: false } }).hooks;
const prefixed = toConfig({
  hooks: { allowedSessionKeyPrefixes: ["hook:", "crm:"], defaultSessionKey: "hook:all" },
}).hooks;
const refusal = expect.objectContaining({
  status: 400,
  code: "session_key_refused",
  message: expect.stringMatching(/^sessionKey /),
});

test("a key is taken as it is", () => {
  expect(resolveSessionKey("crm:42 Äöü", true, open)).toBe("crm:42 Äöü");
});

test.each(["main", "MAIN", "Main"])("%s is not the main session", (key) => {
  expect(resolveSessionKey(key, true, open)).toBe("hook:main");
});

test("without a key it is the default, else a random one", () => {
  expect(resolveSessionKey(undefined, true, closed)).toMatch(/^hook:[0-9a-f-]{36}$/);
  expect(resolveSessionKey(undefined, true, closed)).not.toBe(resolveSessionKey(undefined, true, closed));
  expect(resolveSessionKey(undefined, true, prefixed)).toBe("hook:all");
});

test.each(["a\nb", "a\u0000b", "a\u2028b", "a\u009bb", "a\uD800b", "x".repeat(257)])("%j is refused", (key) => {
  expect(() => resolveSessionKey(key, false, open)).toThrow(refusal);
});

test("a request's own key is refused where it may not choose, the operator's is not", () => {
  expect(() => resolveSessionKey("crm:42", true, closed)).toThrow(refusal);
  expect(resolveSessionKey("crm:42", false, closed)).toBe("crm:42");
});

test("a key must start with an allowed prefix, whoever gave it", () => {
  expect(resolveSessionKey("crm:42", true, prefixed)).toBe("crm:42");
  expect(() => resolveSessionKey("xcrm:42", true, prefixed)).toThrow(refusal);
  expect(() => resolveSessionKey("CRM:42", false, prefixed)).toThrow(refusal);
  expect(() => resolveSessionKey("main", true, prefixed)).toThrow(refusal);
});

const free = toConfig({ agents: { defaults: { model: "local/small" } } }).agents;
const listed = toConfig({
  agents: { defaults: { model: "opus", models: ["local/small", { id: "anthropic/large", alias: "opus" }] } },
}).agents;

test("without a list any model can be named", () => {
  expect(resolveModel("some/model", free)).toBe("some/model");
  expect(resolveModel(undefined, free)).toBe("local/small");
  expect(resolveModel(undefined, toConfig().agents)).toBeUndefined();
});

test("a list takes ids and aliases, and gives ids", () => {
  expect(resolveModel("local/small", listed)).toBe("local/small");
  expect(resolveModel("opus", listed)).toBe("anthropic/large");
  expect(resolveModel(undefined, listed)).toBe("anthropic/large");
});

test.each(["other/model", "OPUS", "local/small "])("%j is not on the list", (name) => {
  const refused = { status: 400, code: "model_not_allowed", message: expect.stringContaining("model") };
  expect(() => resolveModel(name, listed)).toThrow(expect.objectContaining(refused));
});
