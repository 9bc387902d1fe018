import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { readConfig } from "../../service/drivers.ts";
import { ConfigError, type ConfigProblem } from "../errors.ts";
import { findParts } from "./include.ts";
import type { ReadConfig } from "./load.ts";

/** A folder with these files, by their names. */
function writeFolder(files: Record<string, string | object>): string {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-parts-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return folder;
}

interface Found extends Partial<ReadConfig> {
  folder: string;
  problems: ConfigProblem[];
}

async function read(files: Record<string, string | object>, env: NodeJS.ProcessEnv = {}): Promise<Found> {
  const folder = writeFolder(files);
  const [main = ""] = Object.keys(files);
  try {
    return { folder, ...(await readConfig(path.join(folder, main), env)) };
  } catch (error) {
    if (error instanceof ConfigError) return { folder, problems: error.problems };
    throw error;
  }
}

/** The problems for a terminal, with paths in the folder. */
function show(folder: string, problems: readonly ConfigProblem[] = []): string[] {
  return problems.map(({ file = "", line, column, message }) =>
    [path.relative(folder, file), line, column, ` ${message.replaceAll(`${folder}/`, "")}`].join(":"),
  );
}

const mapping = (id: string, fields: object = {}) => ({ id, match: { path: id }, messageTemplate: "x", ...fields });

describe("which files are parts", () => {
  const files = {
    "main.yaml": "",
    "common.json5": "{}",
    "dev.yaml": "",
    "teams/a.yaml": "",
    "teams/b.json": "{}",
    "teams/b-c/d.yml": "",
    "teams/README.md": "",
    "teams/.hidden.yaml": "",
    "teams/..data/a.yaml": "",
    "teams/a/x.jsonc": "{}",
    "teams/a/deep/y.yaml": "",
    "teams/node_modules/z/z.yaml": "",
  };

  test.each([
    [["common.json5"], ["common.json5"]],
    [["./teams/a.yaml", "teams/a.yaml"], ["teams/a.yaml"]],
    [["teams/*"], ["teams/a.yaml", "teams/b.json"]],
    [["teams/*.yaml"], ["teams/a.yaml"]],
    [["./teams/*.yaml"], ["teams/a.yaml"]],
    [["teams/*/*"], ["teams/a/x.jsonc", "teams/b-c/d.yml"]],
    [["teams/**"], ["teams/a.yaml", "teams/a/deep/y.yaml", "teams/a/x.jsonc", "teams/b-c/d.yml", "teams/b.json"]],
    [["teams/**/*.yaml"], ["teams/a.yaml", "teams/a/deep/y.yaml"]],
    [["teams/**/deep/*.yaml"], ["teams/a/deep/y.yaml"]],
    [
      ["teams/b.json", "teams/*"],
      ["teams/b.json", "teams/a.yaml"],
    ],
    [
      ["teams/?.yaml", "teams/[a].yaml", "teams/{a}.yaml"],
      [],
      [
        "include[0]: The file teams/?.yaml does not exist.",
        "include[1]: The file teams/[a].yaml does not exist.",
        "include[2]: The file teams/{a}.yaml does not exist.",
      ],
    ],
    [["*.yaml"], [], ['include[0]: A pattern needs a folder for parts alone. Write one such as "teams/*.yaml".']],
    [["./**/*.yaml"], [], ["include[0]: A pattern needs a folder for parts alone"]],
    [["teams/../*.yaml"], [], ["include[0]: A pattern needs a folder for parts alone"]],
    [["../*.yaml"], [], ["include[0]: A pattern needs a folder for parts alone"]],
    [["/**/*.yaml"], [], ["include[0]: A pattern needs a folder for parts alone"]],
    [["absent.yaml"], [], ["include[0]: The file absent.yaml does not exist."]],
    [["teams"], [], ['include[0]: This is a folder. Write "teams/*.yaml".']],
    [["main.yaml"], [], ["include[0]: A configuration cannot include itself."]],
    [["teams/README.md"], [], [], ["include[0]: This file is passed over: the name of a part ends with .json5"]],
    [
      ["none/*.yaml", "teams/*.txt"],
      [],
      [],
      ["include[0]: This pattern has no files.", "include[1]: This pattern has no files."],
    ],
  ] as [string[], string[], string[]?, string[]?][])("%j", (include, expected, problems = [], warnings = []) => {
    const folder = writeFolder(files);
    const found = findParts(include, { file: path.join(folder, "main.yaml"), baseDir: folder });
    const texts = (list: ConfigProblem[]) =>
      list.map(({ key, message }) => `${key}: ${message.replace(`${folder}/`, "")}`);
    expect(found.files.map((file) => path.relative(folder, file))).toEqual(expected);
    expect(texts(found.problems)).toEqual(problems.map((text) => expect.stringContaining(text)));
    expect(texts(found.warnings)).toEqual(warnings.map((text) => expect.stringContaining(text)));
    // A file that appears counts by the same rules.
    for (const file of Object.keys(files).filter((name) => !include.some((one) => one.endsWith(name)))) {
      expect([file, found.isPart(path.join(folder, file))]).toEqual([file, expected.includes(file)]);
    }
  });

  test("links are followed, and one to a folder around it is not entered", () => {
    const folder = writeFolder({ "..data/a.yaml": "", "teams/b.yaml": "" });
    symlinkSync("../..data/a.yaml", path.join(folder, "teams/a.yaml"));
    symlinkSync("../absent.yaml", path.join(folder, "teams/gone.yaml"));
    symlinkSync("..", path.join(folder, "teams/around"));
    const find = (pattern: string) =>
      findParts([pattern], { baseDir: folder }).files.map((file) => path.relative(folder, file));
    expect(find("teams/*.yaml")).toEqual(["teams/a.yaml", "teams/b.yaml"]);
    expect(find("teams/**/*.yaml")).toEqual(["teams/a.yaml", "teams/b.yaml"]);
  });

  test("there are at most 500", () => {
    const folder = writeFolder(Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`parts/${at}.yaml`, ""])));
    const { problems, files: found } = findParts(["parts/*"], { baseDir: folder });
    expect(problems).toEqual([{ key: "include", message: expect.stringContaining("more than 500 parts") }]);
    expect(found).toHaveLength(500);
  });
});

test("objects merge by key, the including file wins, and lists of things are joined with its own first", async () => {
  const { config, problems } = await read({
    "prod.yaml": `
include: ["common.json5", "teams/*/*.yaml"]
gateway: { port: 1 }
plugins: []
channels: { telegram: { dryRun: false } }
hooks: { token: "${"t".repeat(30)}", redact: [$.a], mappings: [{ id: own, match: { path: own }, messageTemplate: own }] }
alerts: [{ on: [dead-letter], channel: telegram, to: "1" }]
`,
    "common.json5": `{
  gateway: { port: 2, publicUrl: "https://x.example", auth: { token: "${"g".repeat(30)}" } },
  hooks: { enabled: true, redact: ["$.b", "$.c"], mappings: [${JSON.stringify(mapping("common"))}] },
  channels: { telegram: { token: "1:abc", dryRun: true } },
  alerts: [{ on: ["dead-letter"], channel: "telegram", to: "2" }],
}`,
    "teams/a/hooks.yaml": "hooks: { presets: [mail], mappings: [{ id: a, match: { path: a }, messageTemplate: a }] }",
    "teams/b/hooks.yaml": "$schema: ../../x.json\nhooks:\n",
  });
  expect(problems).toEqual([]);
  expect(config).toMatchObject({
    gateway: { port: 1, publicUrl: "https://x.example", token: "g".repeat(30) },
    hooks: { enabled: true, redact: [["a"]] },
    channels: { telegram: { token: "1:abc" } },
    alerts: [{ to: "1" }, { to: "2" }],
  });
  expect(config?.channelRules.get("telegram")?.dryRun).toBe(false);
  expect(config?.hooks.mappings.map(({ id }) => id)).toEqual(["own", "common", "a", "mail"]);
});

const both = (a: object, b: object, main: object = {}) => ({
  "main.json": JSON.stringify({ include: ["teams/*"], ...main }),
  "teams/a.json": JSON.stringify(a, undefined, 1),
  "teams/b.json": JSON.stringify(b, undefined, 1),
});

describe("what two parts set", () => {
  const slack = { token: "xoxb-1", dryRun: true };
  test.each([
    ["a value", { gateway: { port: 1 } }, { gateway: { port: 2 } }, ["gateway.port"]],
    ["an equal value", { log: { level: "warn" } }, { log: { level: "warn" } }, ["log.level"]],
    ["a list", { hooks: { redact: ["$.a"] } }, { hooks: { redact: ["$.a"] } }, ["hooks.redact"]],
    ["a value and an object", { log: "x" }, { log: { level: "warn" } }, ["log"]],
    ["other values", { gateway: { port: 1 } }, { gateway: { host: "127.0.0.1" } }, []],
    [
      "a channel",
      { channels: { slack: { token: "xoxb-1" } } },
      { channels: { slack: { dryRun: true } } },
      ["channels.slack"],
    ],
    ["a channel by two names", { channels: { msteams: {} } }, { channels: { teams: {} } }, ["channels.teams"]],
    ["accounts", { channels: { slack } }, { channels: { "slack:eu": slack } }, []],
    [
      "providers",
      { agents: { providers: { a: { kind: "echo" } } } },
      { agents: { providers: { a: {} } } },
      ["agents.providers.a"],
    ],
    ["tools", { agents: { tools: { a: { kind: "http" } } } }, { agents: { tools: { a: {} } } }, ["agents.tools.a"]],
    ["tokens", { hooks: { tokens: { a: { hooks: ["x"] } } } }, { hooks: { tokens: { a: {} } } }, ["hooks.tokens.a"]],
    [
      "principals",
      { gateway: { mcp: { principals: { a: { events: ["*"] } } } } },
      { gateway: { mcp: { principals: { a: {} } } } },
      ["gateway.mcp.principals.a"],
    ],
    ["joined lists", { hooks: { presets: ["github"] } }, { hooks: { presets: ["gitlab"] } }, []],
  ])("%s", async (_name, a, b, keys) => {
    const { folder, problems } = await read(both(a, b));
    const texts = show(folder, problems).filter((text) => text.includes("also set"));
    expect(texts).toEqual(
      keys.map((key) =>
        expect.stringMatching(
          new RegExp(`^teams/b\\.json:\\d+:\\d+: ${RegExp.escape(key)} is also set in teams/a\\.json:\\d+:\\d+\\.$`),
        ),
      ),
    );
  });

  test("is said at the later part, with the place of the first", async () => {
    const { folder, problems } = await read({
      "prod.yaml": "include: [teams/*.yaml]\n",
      "teams/a.yaml": "channels:\n  slack: { token: x }\n",
      "teams/b.yaml": "log:\n\nchannels:\n    slack: { token: x }\n",
      "teams/c.yaml": "channels:\n  slack: { token: x }\n",
    });
    expect(show(folder, problems)).toEqual([
      "teams/b.yaml:4:5: channels.slack is also set in teams/a.yaml:2:3.",
      "teams/c.yaml:2:3: channels.slack is also set in teams/a.yaml:2:3.",
    ]);
  });

  test.each<[string, [a: object, b: object, main: object], number]>([
    ["a value", [{ log: { level: "warn" } }, { log: { level: "error" } }, { log: { level: "info" } }], 0],
    [
      "an entry",
      [{ channels: { slack: { token: "x" } } }, { channels: { slack: { allow: [] } } }, { channels: { slack: {} } }],
      0,
    ],
    [
      "an entry, not its values",
      [{ channels: { slack: { token: "x" } } }, { channels: { slack: { token: "x" } } }, { channels: { slack: {} } }],
      1,
    ],
    ["the whole", [{ log: { level: "warn" } }, { log: { level: "error" } }, { log: 5 }], 0],
  ])("is no problem where the including file has it: %s", async (_name, files, count) => {
    const { problems } = await read(both(...files));
    expect(problems.filter(({ message }) => message.includes("also set"))).toHaveLength(count);
  });
});

test("a part's paths are its own", async () => {
  const { config, folder, problems, folderOf, files } = await read(
    {
      "main.yaml": `
include: [common/x.yaml, teams/a.yaml]
hooks: { token: "\${file:t}", enabled: true, transformsDir: code, presets: [./own] }
agents: { providers: { b: { cwd: there } } }
`,
      t: "t".repeat(30),
      "common/x.yaml": `
gateway: { auth: { token: "\${file:g}" } }
store: { path: ./state }
agents:
  providers:
    a: { kind: command, command: [./run], cwd: work }
    b: { kind: command, command: [node, x] }
hooks: { presets: [{ use: ./own2, with: { transform: { module: y.ts } } }] }
`,
      "common/g": "g".repeat(30),
      "common/work/run": "",
      "common/own2/preset.json": { name: "own2", description: "x", mappings: [{ messageTemplate: "x" }] },
      "own/preset.json": { name: "own", description: "x", mappings: [{ messageTemplate: "x" }] },
      "teams/a.yaml": `
plugins: [./plugin.mts]
hooks:
  transformsDir: mine
  transformRoots: [../shared]
  mappings: [{ id: a, match: { path: a }, messageTemplate: x, schema: s.json }]
  presets: [{ use: github, with: { secret: "${"s".repeat(20)}", transform: { module: g.ts } } }]
`,
      "teams/plugin.mts": `export default { name: "p", channels: {} };`,
    },
    {},
  );
  expect(problems.filter(({ message }) => !message.includes("program"))).toEqual([]);
  const { hooks, store, agents, gateway } = config!;
  expect(gateway.token).toBe("g".repeat(30));
  expect(path.relative(folder, store.path)).toBe("common/state");
  expect(agents.providers["a"]).toMatchObject({ cwd: path.join(folder, "common/work") });
  expect(agents.providers["b"]).toMatchObject({ cwd: "there" });
  expect(path.relative(folder, folderOf!("agents.providers.a"))).toBe("common");
  expect(hooks.transformRoots).toEqual([path.join(folder, "shared")]);
  const places = hooks.mappings.map(({ id, file = "", baseDir, transformsDir }) => [
    id,
    ...[file, baseDir, transformsDir].map((place) => path.relative(folder, place)),
  ]);
  expect(places.slice(0, 3)).toEqual([
    ["a", "teams/a.yaml", "teams", "teams/mine"],
    ["own", "own/preset.json", "own", "own"],
    ["own2", "common/own2/preset.json", "common/own2", "code"],
  ]);
  expect(places.slice(3).every(([id, , , used]) => id?.startsWith("github") && used === "teams/mine")).toBe(true);
  expect(files).toEqual(
    expect.arrayContaining(
      ["t", "common/g", "common/x.yaml", "teams/plugin.mts"].map((name) => path.join(folder, name)),
    ),
  );
});

describe("each problem has its file and line", () => {
  test.each([
    [
      "hooks: { mappings: [{ match: { path: a }, messageTemplate: x }] }",
      "1:21: A mapping in a part needs an id: state, pauses and spend are kept under it.",
    ],
    ["include: [b.yaml]", "1:1: A part cannot include others. Name them in the file that includes this one."],
    ["- a", "1:1: A part must be an object, as a configuration is."],
    ["log:\n  levle: warn", '2:3: The key "levle" is unknown; did you mean "level"?'],
    ["log:\n  level: loud", "2:3: This value must be one of"],
    ["log: { level: info, level: warn }", "1:21: This is a duplicate key. Remove one."],
    ["log: [", "2:1: This is not YAML"],
    ['gateway:\n  auth: { token: "${GONE}" }', "2:11: The environment variable GONE is not set. Set it."],
    ["gateway:\n  auth: { token: $GONE }", "2:11: This looks like a reference"],
    ["hooks:\n  presets:\n    - gihub", '3:7: There is no preset "gihub"; did you mean'],
    ["hooks:\n  presets:\n    - { use: github, with: { chanel: x } }", '3:30: The key "chanel" is unknown'],
    ["hooks:\n  mappings:\n    - { id: a, channel: slakc, messageTemplate: x }", '3:16: There is no channel "slakc"'],
    [
      "hooks:\n  mappings:\n    - { id: b, match: { path: x }, messageTemplate: x }",
      '3:9: "b" is already the id of hooks.mappings[0] in main.yaml:2:21. Choose another id.',
    ],
    [
      "hooks:\n  presets: [mail]",
      '2:13: The preset "mail" is already used at hooks.presets[0] in main.yaml:2:89. Give one of them another path in with.',
    ],
    [
      'hooks:\n  tokens: { a: { secret: "tttttttttttttttttttttttttttttt", hooks: [b] } }',
      "2:18: This secret is the same as hooks.token in main.yaml:2:96. Give each token a different one.",
    ],
    ["channels:\n  signal: { dryRun: 1 }", "2:13: This value must be a boolean, not a number."],
    ["channels:\n  teams: { appId: 1 }", "2:3: "],
  ])("%s", async (text, expected) => {
    const { folder, problems } = await read({
      "main.yaml": `include: [teams/*]\nhooks: { mappings: [{ id: b, match: { path: b }, messageTemplate: x }], presets: [      mail], token: ${"t".repeat(30)} }\n`,
      "teams/a.yaml": `${text}\n`,
    });
    expect(show(folder, problems)[0]).toContain(`teams/a.yaml:${expected}`);
    expect(problems.every(({ line }) => line !== undefined)).toBe(true);
  });

  test("of the parts that cannot be read, all are said at once", async () => {
    const { folder, problems } = await read({
      "main.yaml": "include: [a.yaml, b.yaml, gone.yaml]",
      "a.yaml": "[",
      "b.yaml": "{",
    });
    expect(show(folder, problems).map((text) => text.slice(0, 20))).toEqual([
      "main.yaml:1:27: The ",
      expect.stringContaining("a.yaml:"),
      expect.stringContaining("b.yaml:"),
    ]);
  });

  test("what the including file replaces is not missed", async () => {
    const files = { "main.yaml": "include: [a.yaml]\nlog: { level: info }", "a.yaml": 'log: { level: "${GONE}" }' };
    expect((await read(files)).problems).toEqual([]);
  });
});
