import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildRuntime } from "../../service/runtime/build.ts";
import { ConfigError } from "../errors.ts";
import { readConfig } from "../../service/drivers.ts";

const SCHEMA = '{ type: "object", additionalProperties: false, properties: { volume: { type: "number" } } }';
const PARROT = `export default {
  name: "parrots",
  agents: { parrot: { schema: ${SCHEMA}, create() { throw new Error("no seed") } } },
  channels: { slack: { schema: ${SCHEMA}, create: () => ({}) } },
  providers: { feather: { schema: ${SCHEMA}, create: () => ({}) } },
};`;

/** A plugin with one vendor. */
function vendorOf(parts: string, name = "acme"): string {
  return `export default { name: "acmes", vendors: { ${JSON.stringify(name)}: { service: "Acme", ${parts} } } };`;
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-plugins-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("a block is checked by its plugin's schema", () => {
  test("an unknown key, with its line", async () => {
    const providers = '{ p: { kind: "parrot",\n volme: 3 } }';
    expect(await problemsOf(`{ plugins: ["./p.mjs"], agents: { providers: ${providers} } }`)).toEqual([
      expect.objectContaining({
        file: configFile(),
        line: 2,
        key: "agents.providers.p.volme",
        message: 'The key "volme" is unknown; did you mean "volume"?',
      }),
    ]);
  });

  test("a channel's value, and no longer by the schema of the service's own", async () => {
    const [problem, ...rest] = await problemsOf('{ plugins: ["./p.mjs"], channels: { slack: { volume: "x" } } }');
    expect(problem).toMatchObject({
      key: "channels.slack.volume",
      message: "This value must be a number, not a string.",
    });
    expect(rest).toEqual([]);
  });

  test("a kind that nobody brings: the sentence names the plugin's too", async () => {
    const [problem] = await problemsOf('{ plugins: ["./p.mjs"], agents: { providers: { p: { kind: "x" } } } }');
    expect(problem).toMatchObject({
      key: "agents.providers.p.kind",
      message: expect.stringContaining('"parrot"'),
    });
  });

  test("the service's own kinds stay as they are", async () => {
    const providers = '{ a: { kind: "openai", apiKey: "k" }, p: { kind: "parrot", volume: 1 } }';
    expect(await problemsOf(`{ plugins: ["./p.mjs"], agents: { providers: ${providers} } }`)).toEqual([]);
  });
});

describe("a plugin that cannot be used is a problem of its entry", () => {
  test.each([
    ["cannot be found", undefined, "Cannot find module"],
    ["throws", 'throw new Error("not today");', "not today"],
    ["exports nothing", "export const a = 1;", "definePlugin"],
    ["has no name", "export default {};", "must have a name"],
    ["has a part that there is not", 'export default { name: "a", agent: {} };', 'did you mean "agents"?'],
    [
      "brings a channel with the name last",
      `export default { name: "a", channels: { last: { schema: ${SCHEMA}, create() {} } } };`,
      'no channel can be named "last"',
    ],
    [
      "brings a channel with the other name of one",
      `export default { name: "a", channels: { teams: { schema: ${SCHEMA}, create() {} } } };`,
      'no channel can be named "teams": it means msteams',
    ],
    [
      "has a vendor without a name",
      'export default { name: "a", vendors: { acme: {} } };',
      "vendors.acme.service must be its name",
    ],
    [
      "has a vendor with a name that no preset has",
      vendorOf("", "Acme_1"),
      "vendors.Acme_1: a vendor has the name of its preset",
    ],
    [
      "has a vendor with an unknown part",
      vendorOf("webhook: {}"),
      'vendors.acme has the unknown part "webhook"; did you mean "webhooks"?',
    ],
    [
      "has a vendor with a relative folder",
      vendorOf('presets: ["./presets/acme"]'),
      "vendors.acme.presets must be a list of absolute folders",
    ],
    [
      "has a vendor whose webhooks cannot connect",
      vendorOf('webhooks: { secretBy: "us" }'),
      "vendors.acme.webhooks must be { secretBy,",
    ],
    [
      "has a vendor that reads messages by no function",
      vendorOf("readMessage: {}"),
      "vendors.acme.readMessage must be a function",
    ],
    [
      "has a vendor with a channel without create",
      vendorOf(`channels: { acme: { schema: ${SCHEMA} } }`),
      "vendors.acme.channels.acme must be",
    ],
    [
      "has a vendor with a channel with the name last",
      vendorOf("channels: { last: {} }"),
      'no channel can be named "last"',
    ],
    ["has no create", `export default { name: "a", agents: { x: { schema: ${SCHEMA} } } };`, "agents.x must be"],
    [
      "has a schema of something else",
      'export default { name: "a", agents: { x: { schema: {}, create() {} } } };',
      "agents.x.schema",
    ],
    [
      "has a broken schema",
      'export default { name: "a", agents: { x: { schema: { type: "object", required: 1 }, create() {} } } };',
      "agents.x.schema: required must be an array, not a number",
    ],
  ])("that %s", async (_, text, message) => {
    const [problem, ...rest] = await problemsOf('{\n plugins: ["./p.mjs"] }', text ?? "", text === undefined);
    expect(problem).toMatchObject({ file: configFile(), line: 2, key: "plugins[0]" });
    expect(problem?.message).toContain(message);
    expect(rest).toEqual([]);
  });

  test("that is CommonJS, which could not be reloaded", async () => {
    writeFileSync(path.join(folder, "package.json"), "{}");
    writeFileSync(path.join(folder, "p.ts"), 'export default { name: "a" };');
    const [problem] = await problemsOf('{ plugins: ["./p.ts"] }');
    expect(problem?.message).toContain("it must be an ES module");
  });
});

test("where a plugin cannot be used, all is checked but the blocks that could be its own", async () => {
  const blocks = "agents: { providers: { p: { kind: 'parrot' } } }, channels: { horn: {} }";
  const problems = await problemsOf(`{ plugins: ["./p.mjs"], ${blocks}, hook: {} }`, 'throw new Error("not today");');
  expect(problems.map(({ key }) => key)).toEqual(["plugins[0]", "hook"]);
});

test("the default of an option is filled in, and a channel may have a new name", async () => {
  const schema = '{ type: "object", properties: { volume: { type: "number", default: 3 } } }';
  const text = `export default { name: "a", channels: { horn: { schema: ${schema}, create: () => ({}) } } };`;
  writeFileSync(path.join(folder, "p.mjs"), text);
  const { config } = await read('{ plugins: ["./p.mjs"], channels: { horn: {} } }');
  expect(config.channels).toEqual({ horn: { volume: 3 } });
  expect(config.channelNames).toContain("horn");
});

test("its check reports what the schema cannot express", async () => {
  const check = `check: ({ volume }) => [
    { key: "volume", message: "is too loud: " + volume },
    { message: "is experimental", level: "warning" },
  ]`;
  const text = `export default { name: "a", channels: { horn: { schema: ${SCHEMA}, create: () => ({}), ${check} } } };`;
  writeFileSync(path.join(folder, "p.mjs"), text);
  const { problems, warnings } = await read('{ plugins: ["./p.mjs"],\n channels: { horn: { volume: 11 } } }');
  expect(problems).toMatchObject([{ key: "channels.horn.volume", line: 2, message: "is too loud: 11" }]);
  expect(warnings).toMatchObject([{ key: "channels.horn", line: 2, message: "is experimental" }]);
});

test("a schema may refer to its own definitions", async () => {
  const schema =
    '{ type: "object", properties: { to: { $ref: "#/definitions/to" } }, definitions: { to: { type: "string" } } }';
  const text = `export default { name: "a", mailSources: { pigeon: { schema: ${schema}, create: () => ({}) } } };`;
  const config = '{ plugins: ["./p.mjs"], hooks: { mail: { source: { kind: "pigeon", to: 1 } } } }';
  expect(await problemsOf(config, text)).toMatchObject([
    { key: "hooks.mail.source.to", message: "This value must be a string, not a number." },
  ]);
});

describe("a vendor", () => {
  const BASE = { name: "acme", description: "x", mappings: [{ messageTemplate: "x" }] };
  const HOOKS = 'webhooks: { secretBy: "us", tokenVariables: ["T"], tokenNeeds: "all", connect: () => ({}) }';

  function writePreset(preset: object, place = "presets/acme"): string {
    mkdirSync(path.join(folder, place), { recursive: true });
    const file = path.join(folder, place, "preset.json");
    writeFileSync(file, JSON.stringify(preset, undefined, 2));
    return file;
  }
  const withPreset = (parts = "", place = "presets/acme") =>
    vendorOf(`presets: [${JSON.stringify(path.join(folder, place))}], ${parts}`);

  test("brings its schemes, channels, and presets by name", async () => {
    writePreset({ ...BASE, common: { auth: { scheme: "acme", volume: 1 } } });
    const driver = `{ acme: { schema: ${SCHEMA}, create: () => ({}) } }`;
    const plugin = withPreset(`signatures: ${driver}, channels: ${driver}`);
    const config = '{ plugins: ["./p.mjs"], channels: { acme: { volume: 2 } }, hooks: { presets: ["acme"] } }';
    expect(await problemsOf(config, plugin)).toEqual([]);
    const { config: resolved, drivers } = await read(config);
    expect(resolved.hooks.mappings).toMatchObject([{ id: "acme", preset: "acme" }]);
    expect(resolved.channels).toEqual({ acme: { volume: 2 } });
    expect(drivers.vendors).toMatchObject({ acme: { service: "Acme" }, github: { service: "GitHub" } });
  });

  test.each([
    ["acne", 'There is no preset "acne"; did you mean "acme"?'],
    ["acme", "presets/acme/preset.json does not exist."],
  ])("whose preset %s is not there", async (use, message) => {
    const [problem] = await problemsOf(`{ plugins: ["./p.mjs"], hooks: { presets: ["${use}"] } }`, withPreset());
    expect(problem).toMatchObject({ key: "hooks.presets[0]", message: expect.stringContaining(message) });
  });

  test("has no preset with a built-in one's name", async () => {
    writePreset({ ...BASE, name: "github" }, "presets/github");
    const config = '{ plugins: ["./p.mjs"], hooks: { presets: ["github"] } }';
    const [problem] = await problemsOf(config, withPreset("", "presets/github"));
    expect(problem?.message).toContain('"github" is a built-in preset. Choose another name');
  });

  test.each([
    ["", { place: { type: "string" } }, "registration", "vendors.acme.webhooks"],
    [HOOKS, { catchUp: true }, "registration.catchUp", "vendors.acme.openMissed"],
  ])("with %s is needed for what a preset registers", async (parts, registration, key, part) => {
    const file = writePreset({ ...BASE, registration });
    for (const use of ["acme", "./presets/acme"]) {
      const [problem] = await problemsOf(`{ plugins: ["./p.mjs"], hooks: { presets: ["${use}"] } }`, withPreset(parts));
      expect(problem).toMatchObject({ file, key, line: expect.any(Number) });
      expect(problem?.message).toBe(`Nothing can do this for "acme". Add a plugin with ${part}, or remove this key.`);
    }
    const whole = withPreset(`${HOOKS}, openMissed: async () => ({})`);
    expect(await problemsOf('{ plugins: ["./p.mjs"], hooks: { presets: ["./presets/acme"] } }', whole)).toEqual([]);
  });

  test("is brought by one plugin", async () => {
    const plugin = withPreset(`channels: { acme: { schema: ${SCHEMA}, create: () => ({}) } }`);
    const problems = await problemsOf('{ plugins: ["./p.mjs", "./p.mjs"] }', plugin);
    expect(problems.map(({ message }) => message)).toEqual([
      'Both acmes and acmes bring the channel "acme". Remove one of the plugins.',
      'Both acmes and acmes bring the vendor "acme". Remove one of the plugins.',
      'Both acmes and acmes bring the preset "acme". Remove one of the plugins.',
    ]);
  });
});

test("two plugins cannot bring the same", async () => {
  const problems = await problemsOf('{ plugins: ["./p.mjs", "./p.mjs"] }');
  expect(problems.map(({ message }) => message)).toEqual([
    'Both parrots and parrots bring the agent kind "parrot". Remove one of the plugins.',
    'Both parrots and parrots bring the channel "slack". Remove one of the plugins.',
    'Both parrots and parrots bring the signature scheme "feather". Remove one of the plugins.',
  ]);
});

test("a module that has not changed is not imported again, one that has is", async () => {
  const file = path.join(folder, "p.mjs");
  const config = '{ plugins: ["./p.mjs"] }';
  const count = "globalThis.imports = (globalThis.imports ?? 0) + 1;";
  writeFileSync(file, `${count}\n${PARROT}`);
  await sleep(30);
  await read(config);
  await read(config);
  expect(globalThis).toMatchObject({ imports: 1 });
  writeFileSync(file, `${count}\n\n${PARROT}`);
  await read(config);
  expect(globalThis).toMatchObject({ imports: 2 });
});

test("a package is looked up from the configuration's folder", async () => {
  const home = path.join(folder, "node_modules/parrots");
  mkdirSync(home, { recursive: true });
  writeFileSync(path.join(home, "package.json"), '{ "type": "module", "exports": "./index.js" }');
  writeFileSync(path.join(home, "index.js"), PARROT);
  const { problems, files, config } = await read('{ plugins: ["parrots"], channels: { slack: {} } }');
  expect(problems).toEqual([]);
  expect(config.channels).toEqual({ slack: {} });
  // An installation replaces the package's own file, and the code with it.
  expect(files).toEqual(expect.arrayContaining([configFile(), path.join(home, "package.json")]));
  expect(files).not.toContain(path.join(home, "index.js"));
});

test("where a package that is not installed would be is followed", async () => {
  const error = await read('{ plugins: ["later"], channels: { later: {} } }').catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as ConfigError).files).toContain(path.join(folder, "node_modules/later/package.json"));
});

test.each([
  ["p.mjs", "Unexpected token '{'"],
  ["p.ts", 'Expected identifier but found "{"'],
])("a mistake in the syntax of %s has its place", async (name, mistake) => {
  writeFileSync(path.join(folder, name), 'export default {\n  name: "a",\n  channels: {{\n};');
  const error: unknown = await read(`{ plugins: ["./${name}"] }`).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ConfigError);
  const message = `The plugin "./${name}" cannot be used: ${mistake}.`;
  const problem = { key: "plugins[0]", message, file: path.join(folder, name), line: 3, column: 14 };
  expect(error).toMatchObject({ problems: [problem] });
});

test("what its create throws is a problem of the block", async () => {
  writeFileSync(path.join(folder, "p.mjs"), PARROT);
  const load = () => read('{ plugins: ["./p.mjs"],\n agents: { providers: { p: { kind: "parrot" } } } }');
  const runner = { check: async () => [], run: () => Promise.reject(new Error("none")) };
  await expect(buildRuntime({ generation: 1, load, runner } as never)).rejects.toMatchObject({
    problems: [{ file: configFile(), line: 2, key: "agents.providers.p", message: expect.stringContaining("no seed") }],
  });
});

async function problemsOf(config: string, plugin = PARROT, absent = false) {
  if (!absent) writeFileSync(path.join(folder, "p.mjs"), plugin);
  try {
    return (await read(config)).problems;
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

function read(config: string) {
  writeFileSync(configFile(), config);
  return readConfig(configFile(), {});
}

function configFile(): string {
  return path.join(folder, "webhooks.json5");
}
