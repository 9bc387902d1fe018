import { expect, test } from "vitest";
import { toConfig } from "../../test/support/mapping.ts";
import { resolveModel } from "./model.ts";

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
