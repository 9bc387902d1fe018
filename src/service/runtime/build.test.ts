import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readConfig } from "../drivers.ts";
import { ConfigError, type ConfigProblem } from "../../core/errors.ts";
import { PROGRAM } from "../../../test/support/program.ts";
import { buildRuntime } from "./build.ts";

/** A block of each channel. Nobody is asked anything. */
const CHANNELS = {
  whatsapp: { token: "t", phoneNumberId: "1" },
  signal: {},
  telegram: { token: "t" },
  discord: { token: "t" },
  slack: { token: "t" },
  mattermost: { token: "t", baseUrl: "http://127.0.0.1:1" },
  imessage: {},
  msteams: { appId: "a", appPassword: "p" },
};

const HOOKS = { enabled: true, token: "a-token-of-more-than-24-characters" };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-recipients-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("a recipient in a mapping", () => {
  test.each(Object.keys(CHANNELS))("has to be one of %s", async (channel) => {
    const [problem, ...rest] = await problemsOf({ mappings: [{ messageTemplate: "a", channel, to: "<>" }] });
    expect(problem).toMatchObject({
      file: configFile(),
      key: "hooks.mappings[0].to",
      message: expect.stringMatching(`^This is not a recipient for ${channel}\\. Expected `),
    });
    expect(source().split("\n")[(problem?.line ?? 0) - 1]).toContain('"to": "<>"');
    expect(rest).toEqual([]);
  });

  test.each([
    { channel: "telegram", to: " -1001234567890 " },
    { channel: "telegram", to: "{{chat}}" },
    { channel: "{{channel}}", to: "<>" },
    { channel: "last", to: "<>" },
    { channel: "telegram", to: "" },
    { channel: "telegram" },
    { to: "<>" },
  ])("%j has no problem before a request comes", async (mapping) => {
    expect(await problemsOf({ mappings: [{ messageTemplate: "a", ...mapping }] })).toEqual([]);
  });

  test("is reported together with the other problems of the mappings", async () => {
    const mappings = [{ messageTemplate: "{{#if}}" }, { messageTemplate: "a", channel: "discord", to: "#general" }];
    expect((await problemsOf({ mappings })).map(({ key }) => key)).toEqual([
      "hooks.mappings[0].messageTemplate",
      "hooks.mappings[1].to",
    ]);
  });
});

test.each([
  [{ presets: [{ use: "mail", with: { channel: "discord", to: "#mail" } }] }, "hooks.presets[0].with.to"],
  [{ presets: ["mail"], mail: { channel: "discord", to: "#mail" } }, "hooks.mail.to"],
])("one that a preset was given is a problem of who gave it: %j", async (hooks, key) => {
  const [problem, ...rest] = await problemsOf(hooks);
  expect(problem).toMatchObject({ file: configFile(), key });
  expect(source().split("\n")[(problem?.line ?? 0) - 1]).toContain('"to": "#mail"');
  expect(rest).toEqual([]);
});

test("a secret that its scheme cannot use is one problem", async () => {
  const auth = { scheme: "basic", secret: "no-colon-in-the-secret" };
  expect(await problemsOf({ mappings: [{ match: { path: "a" }, messageTemplate: "a", auth }] })).toMatchObject([
    { key: "hooks.mappings[0].auth.secret", message: "The secret must be user:password." },
  ]);
  const { secret } = auth;
  expect(await problemsOf({ presets: [{ use: "jenkins", with: { secret } }] })).toMatchObject([
    { key: "hooks.presets[0].with.secret", message: "The secret must be user:password." },
  ]);
});

test.each([
  [".", true],
  ["transforms", false],
])("with the transforms in %j, a warning names the state folder: %j", async (transformsDir, isWarned) => {
  mkdirSync(path.join(folder, transformsDir), { recursive: true });
  writeFileSync(path.join(folder, transformsDir, "x.ts"), "export default () => null;");
  writeFileSync(
    configFile(),
    JSON.stringify({ hooks: { ...HOOKS, transformsDir, mappings: [{ transform: { module: "x.ts" } }] } }),
  );
  const runner = { prepare() {}, check: async () => [], loadMs: () => 1 };
  const { warnings } = await buildRuntime({ generation: 1, load: () => readConfig(configFile(), {}), runner } as never);
  const found = warnings.filter(({ key }) => key === "hooks.transformsDir");
  expect(found.map(({ message }) => message)).toEqual(isWarned ? [expect.stringContaining("the state folder")] : []);
});

test("a channel without threads is one warning, and one with threads is none", async () => {
  const target = { messageTemplate: "a", channel: "signal", to: "+491701234567", thread: "session" };
  const places = [target, { ...target, match: { path: "b" } }, { ...target, channel: "slack", to: "C0123456789" }];
  const channels = { signal: {}, slack: { token: "t" } };
  const mappings = places.map((place, index) => ({ match: { path: `a${index}` }, ...place }));
  writeFileSync(configFile(), JSON.stringify({ hooks: { ...HOOKS, mappings }, channels }));
  const { warnings } = await buildRuntime({ generation: 1, load: () => readConfig(configFile(), {}) } as never);
  const message = "The channel signal has no threads: replies go to the recipient itself. Remove thread.";
  const found = warnings.filter(({ key }) => key?.endsWith(".thread"));
  expect(found).toMatchObject([{ key: "hooks.mappings[0].thread", message }]);
});

test("a module with a typing error in its name is one problem, with the nearest name", async () => {
  mkdirSync(path.join(folder, "transforms"));
  writeFileSync(path.join(folder, "transforms/status.ts"), "export default () => null;");
  const problems = await problemsOf({ mappings: [{ transform: { module: "statu.ts" } }] });
  const message = `The module ${path.join(folder, "transforms/statu.ts")} does not exist; did you mean "status.ts"?`;
  expect(problems).toMatchObject([{ key: "hooks.mappings[0].transform.module", message }]);
});

test.each([
  ["x.ts", "x.ts", 'is a link to "x.ts", where nothing can be read'],
  ["x.ts", "gone/y.ts", 'is a link to "gone/y.ts", where nothing can be read'],
])("the module %s that links to %s is said to be a link", async (module, target, message) => {
  mkdirSync(path.join(folder, "transforms"));
  symlinkSync(target, path.join(folder, "transforms", module));
  expect((await problemsOf({ mappings: [{ transform: { module } }] })).map((problem) => problem.message)).toEqual([
    expect.stringContaining(message),
  ]);
});

test.each([
  ["NFC", "NFD"],
  ["NFD", "NFC"],
] as const)("a name in %s of a file in %s is said to look the same", async (written, found) => {
  mkdirSync(path.join(folder, "transforms"));
  const toName = (form: string): string => "café.ts".normalize(form);
  writeFileSync(path.join(folder, "transforms", toName(found)), "export default () => null;");
  const problems = await problemsOf({ mappings: [{ transform: { module: toName(written) } }] });
  // A file system of macOS takes both names for the same.
  if (existsSync(path.join(folder, "transforms", toName(written)))) expect(problems).toEqual([]);
  else expect(problems.map(({ message }) => message)).toEqual([expect.stringMatching(/ \(NFC or NFD\) does\. /)]);
});

/** Root may read any file, so the program runs as another user. */
const OTHER_USER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const canRun = spawnSync(process.execPath, [PROGRAM, "--version"], OTHER_USER).status === 0;

test.skipIf(!canRun)("a module that must not be read is named, with the reason of the system", async () => {
  const at = (name: string): string => path.join(folder, "transforms", name);
  mkdirSync(at("shut"), { recursive: true });
  const imports = 'import "./locked.ts";\nexport default () => null;';
  for (const [name, code] of [
    ["locked.ts", ""],
    ["imports.ts", imports],
    ["shut/x.ts", ""],
  ] as const)
    writeFileSync(at(name), code);
  const modules = ["locked.ts", "imports.ts", "shut/x.ts"];
  const mappings = modules.map((module) => ({ match: { path: "a" }, transform: { module } }));
  writeFileSync(configFile(), JSON.stringify({ hooks: { ...HOOKS, mappings } }));
  for (const [file, mode] of [
    [folder, 0o755],
    [at("locked.ts"), 0o000],
    [at("shut"), 0o000],
  ] as const)
    chmodSync(file, mode);
  const { stdout } = spawnSync(process.execPath, [PROGRAM, "check", "--json", "--config", configFile()], {
    ...OTHER_USER,
    env: { PATH: process.env.PATH, HOME: folder },
  });
  chmodSync(at("shut"), 0o700);
  const { problems } = JSON.parse(stdout.toString());
  const told = problems.map(({ message }: ConfigProblem) => message).join("\n");
  for (const name of ["locked.ts", "shut/x.ts"]) expect(told).toMatch(new RegExp(`EACCES: .*${at(name)}`));
  expect(problems).toContainEqual(expect.objectContaining({ file: at("imports.ts"), line: 1 }));
  expect(told).not.toContain("esbuild");
});

test("what is wrong in many modules for one reason is one problem, which names the first ones", async () => {
  mkdirSync(path.join(folder, "transforms"));
  const mappings = Array.from({ length: 30 }, (_, index) => {
    const module = `t${index}.ts`;
    const code = `import { z } from "not-installed";\nexport default () => z;`;
    writeFileSync(path.join(folder, "transforms", module), code);
    return { transform: { module } };
  });
  const [problem, ...rest] = await problemsOf({ mappings });
  expect(rest).toEqual([]);
  expect(problem).toMatchObject({ file: path.join(folder, "transforms/t0.ts"), line: 1 });
  expect(problem?.message).toContain("not-installed");
  expect(problem?.message).toMatch(/ The same in 30 files: t0\.ts, t1\.ts, t2\.ts and 27 more\.$/);
  expect(await problemsOf({ mappings: mappings.slice(0, 3) })).toHaveLength(3);
});

describe("a schema file", () => {
  test.each(["pipe", "/dev/zero"])("that is %s is refused at once", async (schema) => {
    execFileSync("mkfifo", [path.join(folder, "pipe")]);
    const [problem] = await problemsOf({ mappings: [{ messageTemplate: "a", schema }] });
    expect(problem).toMatchObject({
      key: "hooks.mappings[0].schema",
      message: expect.stringContaining("regular file"),
    });
  });

  test.each([
    ["hunter2:x:0:0", "it is not valid JSON"],
    ['{\n  "hunter2"}', "it is not valid JSON (line 2 column 12)"],
    ['"hunter2"', "a JSON Schema must be an object"],
  ])("with the text %j is refused without a word of it", async (text, message) => {
    writeFileSync(path.join(folder, "schema.json"), text);
    const problems = await problemsOf({ mappings: [{ messageTemplate: "a", schema: "schema.json" }] });
    expect(problems[0]?.message).toContain(message);
    expect(JSON.stringify(problems)).not.toContain("hunter2");
  });
});

async function problemsOf(hooks: object): Promise<ConfigProblem[]> {
  writeFileSync(configFile(), JSON.stringify({ hooks: { ...HOOKS, ...hooks }, channels: CHANNELS }, null, 2));
  const runner = {
    prepare() {},
    check: async () => [],
    run: () => Promise.reject(new Error("there are no transforms")),
  };
  try {
    await buildRuntime({ generation: 1, load: () => readConfig(configFile(), {}), runner } as never);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

function configFile(): string {
  return path.join(folder, "webhooks.json");
}

function source(): string {
  return readFileSync(configFile(), "utf8");
}
