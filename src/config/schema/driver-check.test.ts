import { expect, test } from "vitest";
import { builtInDrivers } from "../plugins.ts";
import { assembleReferences, assembleSchema } from "./assemble.ts";
import { createDriverCheck } from "./driver-check.ts";
import { toConfigProblem } from "./problems.ts";
import { createCheck } from "./validator.ts";

const withAll = createCheck(() => assembleSchema(builtInDrivers), {
  all: true,
  fillDefaults: true,
  references: assembleReferences(builtInDrivers),
});
const configCheck = createDriverCheck((drivers) => [assembleSchema(drivers), ...assembleReferences(drivers)]);

const auth = (block: object): object => ({ hooks: { mappings: [{ match: { path: "x" }, auth: block }] } });

test.each([
  {},
  auth({ scheme: "github", secret: "x", sekret: "y" }),
  auth({ scheme: "githup", secret: "x" }),
  auth({ secret: "x" }),
  auth({ scheme: "hmac" }),
  auth({ scheme: "" }),
  { agents: { providers: { a: { kind: "gateway" }, b: { kind: "openai", apikey: 1 }, c: { kind: "opnai" } } } },
  { channels: { slack: { botToken: 1, extra: true }, slak: {} } },
  { hooks: { mail: { source: { kind: "imap", user: 1 } } } },
  { hooks: { mail: [{ name: "a", source: { kind: "gmial" } }] } },
])("finds what a check with every branch finds, and fills in the same: %j", (written) => {
  const [expected, value] = [structuredClone(written), structuredClone(written)];
  const problems = configCheck(builtInDrivers, value)(value);
  expect(problems.map(toConfigProblem)).toEqual(withAll(expected).map(toConfigProblem));
  expect(value).toEqual(expected);
});

test("is compiled again once, for a driver that was not named before", () => {
  const checkFor = createDriverCheck(assembleReferences);
  const first = checkFor(builtInDrivers, auth({ scheme: "stripe" }));
  expect(checkFor(builtInDrivers, { ...auth({ scheme: "stripe" }), log: { level: "error" } })).toBe(first);
  const second = checkFor(builtInDrivers, auth({ scheme: "shopify" }));
  expect(second).not.toBe(first);
  expect(checkFor(builtInDrivers, auth({ scheme: "github" }))).toBe(second);
});
