import { createRequire } from "node:module";
import { compileFunction } from "node:vm";
import { expect, test } from "vitest";
import { compileModule } from "../../../.ci/checks.ts";
import { builtInDrivers, type Drivers } from "../plugins.ts";
import { assembleReferences, assembleSchema, createDriverCheck, type DriverCheck } from "./assemble.ts";
import { toConfigProblem } from "./problems.ts";
import { compiledChecks, type Validate } from "./compiled-checks.ts";
import { createCheck } from "./validator.ts";

type Schema = Record<string, unknown>;

const withAll = createCheck(() => assembleSchema(builtInDrivers), {
  all: true,
  fillDefaults: true,
  references: assembleReferences(builtInDrivers),
});
const assemble = (drivers: Drivers): [Schema, ...Schema[]] => [assembleSchema(drivers), ...assembleReferences(drivers)];
const configCheck = createCheckWith(undefined);
const checkBuilt = createCheckWith(compileHere());

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
  const [expected, value, builtValue] = [structuredClone(written), structuredClone(written), structuredClone(written)];
  const problems = configCheck(builtInDrivers, value)(value);
  expect(problems.map(toConfigProblem)).toEqual(withAll(expected).map(toConfigProblem));
  expect(value).toEqual(expected);
  expect(checkBuilt(builtInDrivers, builtValue)(builtValue)).toEqual(problems);
  expect(builtValue).toEqual(expected);
});

test("is compiled again once, for a driver that was not named before", () => {
  const checkFor = createCheckWith(undefined);
  const first = checkFor(builtInDrivers, auth({ scheme: "stripe" }));
  expect(checkFor(builtInDrivers, { ...auth({ scheme: "stripe" }), log: { level: "error" } })).toBe(first);
  const second = checkFor(builtInDrivers, auth({ scheme: "shopify" }));
  expect(second).not.toBe(first);
  expect(checkFor(builtInDrivers, auth({ scheme: "github" }))).toBe(second);
});

test("the built check does not depend on the drivers that are named", () => {
  expect(checkBuilt(builtInDrivers, auth({ scheme: "shopify" }))).toBe(checkBuilt(builtInDrivers, {}));
  const plugin = { ...builtInDrivers };
  expect(checkBuilt(plugin, {})).not.toBe(checkBuilt(builtInDrivers, {}));
});

/** As the build compiles it. */
function compileHere(): Validate {
  const module = { exports: {} as Record<string, Validate> };
  const run = compileFunction(compileModule(["config", "mapping"]), ["module", "exports", "require"]);
  run(module, module.exports, createRequire(import.meta.url));
  return module.exports["config"]!;
}

/** With the built check, or as in a checkout, which has none. */
function createCheckWith(built: Validate | undefined): DriverCheck {
  const { config } = compiledChecks;
  compiledChecks.config = built && (() => built);
  const check = createDriverCheck("config", assemble);
  compiledChecks.config = config;
  return check;
}
