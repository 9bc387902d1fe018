import { describe, expect, test } from "vitest";
import { checkConfig } from "../../service/drivers.ts";
import { ConfigError } from "../errors.ts";
import { readPath } from "../shared/json.ts";

async function check(config: object, env: NodeJS.ProcessEnv) {
  try {
    return await checkConfig(config, { baseDir: "/", env });
  } catch (error) {
    if (error instanceof ConfigError) return { config: undefined, problems: error.problems };
    throw error;
  }
}

const mapping = (fields: object) => ({ hooks: { mappings: [{ id: "a", messageTemplate: "x", ...fields }] } });
const github = (fields: object) => ({
  hooks: { presets: [{ use: "github", with: { secret: "s".repeat(20), ...fields } }] },
});
const OWN = "hooks.mappings.0.mapping";

describe("a value that is one reference has the type of its place", () => {
  test.each([
    ["whole number", { gateway: { port: "${V}" } }, "8080", "gateway.port", 8080],
    ["with a default", { gateway: { port: "${GONE:-18791}" } }, "", "gateway.port", 18_791],
    ["zero", { gateway: { port: "${V}" } }, "0", "gateway.port", 0],
    ["number", { agents: { defaults: { timeoutSeconds: "${V}" } } }, "1.5", "agents.timeoutSeconds", 1.5],
    ["boolean", { hooks: { enabled: "${V}" } }, "true", "hooks.enabled", true],
    ["boolean", { hooks: { enabled: "${V}" } }, "false", "hooks.enabled", false],
    [
      "list",
      { gateway: { trustedProxies: "${V}" } },
      " 10.0.0.1 ,10.0.0.2",
      "gateway.trustedProxies",
      ["10.0.0.1", "10.0.0.2"],
    ],
    ["empty list", { gateway: { trustedProxies: "${V}" } }, "  ", "gateway.trustedProxies", []],
    ["list of uses", { hooks: { presets: "${V}" } }, "mail, github", "hooks.presets.1.name", "github"],
    ["item", { gateway: { trustedProxies: ["${V}"] } }, "10.0.0.1", "gateway.trustedProxies", ["10.0.0.1"]],
    [
      "driver block",
      { channels: { telegram: { token: "1:a", dryRun: "${V}" } } },
      "true",
      "channelRules",
      new Map([["telegram", expect.objectContaining({ dryRun: true })]]),
    ],
    [
      "driver list",
      { channels: { telegram: { token: "1:a", allow: "${V}" } } },
      "1,2",
      "channelRules",
      new Map([["telegram", expect.objectContaining({ allow: ["1", "2"] })]]),
    ],
    ["mapping", mapping({ timeoutSeconds: "${V}" }), "30", `${OWN}.timeoutSeconds`, 30],
    ["inside of an object", mapping({ rateLimit: { max: "${V}", per: "1m" } }), "3", `${OWN}.rateLimit.max`, 3],
    ["with", github({ timeoutSeconds: "${V}" }), "30", `${OWN}.timeoutSeconds`, 30],
    ["with", github({ events: "${V}" }), "push,issues", "hooks.presets.0.with.events", ["push", "issues"]],
    [
      "where text fits too",
      mapping({ match: { path: "a", payload: { n: "${V}" } } }),
      "1",
      `${OWN}.match.payload.n`,
      "1",
    ],
    [
      "where text fits too",
      { hooks: { token: "${V}" } },
      "12345678901234567890123456",
      "hooks.token",
      "12345678901234567890123456",
    ],
    ["where text fits too", { hooks: { token: "${V}" } }, "a,b", "hooks.token", "a,b"],
    ["more than a reference", mapping({ instructions: "${V}" }), "5", `${OWN}.instructions`, "5"],
  ] as [string, object, string, string, unknown][])("%s: %j with %j", async (...[, config, V, key, expected]) => {
    const checked = await check(config, { V });
    expect(readPath(checked.config, key.split("."))).toEqual(expected);
  });

  test("a mapping is shown with the reference", async () => {
    const { config } = await check(mapping({ timeoutSeconds: "${V}" }), { V: "30" });
    expect(config?.hooks.mappings[0]?.written?.timeoutSeconds).toBe("${V}");
  });
});

describe("a value that does not fit is said without it", () => {
  const WHOLE = "This value must be a whole number; ${V} holds something else.";
  test.each<[object, string, string]>([
    ...["", " 1", "1 ", "+1", "01", "1.0", "1e3", "0x10", "-", "true", "१"].map(
      (value) => [{ gateway: { port: "${V}" } }, value, WHOLE] as [object, string, string],
    ),
    [{ gateway: { port: "${V}" } }, "99999", "This value must be at most 65535."],
    [{ gateway: { port: "${GONE:-x}" } }, "", "This value must be a whole number; ${GONE:-x} holds something else."],
    [{ gateway: { port: "1${V}" } }, "1", "This value must be a whole number, not a string."],
    [{ gateway: { port: "$${V}" } }, "1", "This value must be a whole number, not a string."],
    [{ hooks: { enabled: "${V}" } }, "yes", "This value must be a boolean; ${V} holds something else."],
    [
      { agents: { defaults: { timeoutSeconds: "${V}" } } },
      "1.",
      "This value must be a number; ${V} holds something else.",
    ],
    [{ log: "${V}" }, "secret", "This value must be an object; ${V} holds something else."],
    [
      { channels: { telegram: { token: "1:a", dryRun: "${V}" } } },
      "1",
      "This value must be a boolean; ${V} holds something else.",
    ],
    [github({ timeoutSeconds: "${V}" }), "soon", "This value must be a number; ${V} holds something else."],
    [mapping({ deliver: "${V}" }), "no", "This value must be a boolean or an array; ${V} holds something else."],
  ])("%j with %j", async (config, value, message) => {
    const { problems } = await check(config, { V: value });
    expect(problems.map((problem) => problem.message)).toContain(message);
  });

  test("a variable that is not set is the only problem of its place", async () => {
    const { config, problems } = await check({ gateway: { port: "${V}" }, hooks: { path: "/" } }, {});
    expect(problems.map(({ key, message }) => [key, message.slice(0, 31)])).toEqual([
      ["gateway.port", "The environment variable V is n"],
      ["hooks.path", 'The path must not be "/", becau'],
    ]);
    expect(config?.gateway.port).toBe(18_790);
  });
});
