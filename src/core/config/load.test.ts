import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ConfigError, type ConfigProblem } from "../errors.ts";
import { PRESETS_FOLDER } from "./presets/file.ts";
import { findConfigFile } from "./load.ts";
import { builtInDrivers, readConfig } from "../../service/drivers.ts";
import type { UserConfig } from "./schema/generated.ts";

const TOKEN = "a-hook-token-of-good-length";

function writeConfig(text: string, name = "webhooks.json5"): string {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-config-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
}

/** Every problem of a file, also where it cannot be parsed. */
async function problemsOf(file: string, env: NodeJS.ProcessEnv = {}): Promise<ConfigProblem[]> {
  try {
    return (await readConfig(file, env)).problems;
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

test("an empty configuration is all defaults, beside its file", async () => {
  const file = writeConfig("{}");
  const folder = path.dirname(file);
  const { config, warnings, files } = await readConfig(file, {});
  expect(config).toEqual({
    file,
    baseDir: folder,
    parts: [],
    gateway: { host: "127.0.0.1", port: 18_790, role: "all", token: undefined, trustedProxies: [] },
    hooks: {
      enabled: false,
      agent: {},
      token: "",
      tokens: [{ name: "default", secrets: [] }],
      path: "/hooks",
      maxBodyBytes: 262_144,
      bodyTimeoutMs: 30_000,
      maxFanOut: 1000,
      maxPending: 1_000_000,
      dedupeWindowMs: 86_400_000,
      redact: [],
      presets: [],
      transformsDir: path.join(folder, "transforms"),
      transformRoots: [],
      mappings: [],
      reads: [],
      writes: [],
      mail: [
        {
          name: "mail",
          key: "hooks.mail",
          autoStart: true,
          batchSize: 20,
          maxBytes: 20_000,
          lookbackMs: 0,
          filter: { own: false, spam: false, trash: false, drafts: false },
        },
      ],
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: [],
      defaultSessionKey: undefined,
    },
    agents: {
      providers: {},
      tools: {},
      model: undefined,
      models: undefined,
      thinking: undefined,
      timeoutSeconds: 600,
      maxConcurrent: 4,
      maxAttempts: 3,
      maxSteps: 20,
      linkHosts: [],
      prices: {},
      budget: undefined,
      heartbeat: { times: { every: "30m" }, joinMs: 10_000, ack: "HEARTBEAT_OK" },
    },
    channels: {},
    channelRules: new Map(),
    channelNames: Object.keys(builtInDrivers.channels),
    forges: ["gitea", "github", "gitlab"],
    alerts: [],
    limits: { perRecipient: 20 },
    session: { maxTurns: 32, maxTokens: 25_000, idleAfterMs: 604_800_000 },
    store: {
      path: path.join(folder, ".webhooks"),
      postgres: undefined,
      retention: { maxAgeMs: 2_592_000_000, maxBytes: undefined, maxKeys: 1_000_000 },
    },
    log: { level: "info" },
  });
  expect(warnings).toEqual([]);
  expect(files).toEqual([file]);
});

test("what is written holds over the defaults, variables filled in", async () => {
  const file = writeConfig(
    `
gateway: { port: 0, auth: { token: " \${GATEWAY}\\n" } }
hooks:
  enabled: true
  token: \${TOKEN}
  path: /in/
  dedupeWindow: 7d
  redact: [$.user.password, "$.items[*].tokens[0]", $.*.pin]
  transformsDir: ../code
  presets: [mail]
  mappings:
    - { messageTemplate: "costs $\${PRICE}" }
agents:
  defaults:
    model: big
    models: [a/b, { id: c/d, alias: big }]
    heartbeat: { every: 90s }
store: { path: /var/lib/hookline, retention: { maxAge: 2d } }
`,
    "webhooks.yaml",
  );
  const { config, files } = await readConfig(file, { TOKEN, GATEWAY: "another-token-of-good-length" });
  expect(config).toMatchObject({
    gateway: { host: "127.0.0.1", port: 0, token: "another-token-of-good-length" },
    hooks: {
      enabled: true,
      token: TOKEN,
      path: "/in",
      dedupeWindowMs: 604_800_000,
      redact: [
        ["user", "password"],
        ["items", "*", "tokens", "0"],
        ["*", "pin"],
      ],
      transformsDir: path.resolve(file, "../../code"),
      presets: [{ name: "mail", with: {}, key: "hooks.presets[0]" }],
    },
    agents: {
      model: "big",
      models: [{ id: "a/b" }, { id: "c/d", alias: "big" }],
      heartbeat: { times: { every: "90s" }, ack: "HEARTBEAT_OK" },
    },
    store: { path: "/var/lib/hookline", retention: { maxAgeMs: 172_800_000 } },
  });
  expect(config.hooks.mappings.map(({ id, mapping }) => [id, mapping.messageTemplate])).toEqual([
    ["mapping-0", "costs ${PRICE}"],
    ["mail", expect.any(String)],
  ]);
  const preset = path.join(PRESETS_FOLDER, "mail");
  expect(files).toEqual([file, ...["preset.json", "place.hbs", "message.hbs"].map((name) => path.join(preset, name))]);
});

describe("problems", () => {
  const placesOf = (problems: ConfigProblem[]) => problems.map(({ line, column, key }) => [line, column, key]);

  test("everything that does not fit the schema comes together, from top to bottom", async () => {
    const file = writeConfig(`{
  gateway: { port: "80", port: "81" },
  hooks: {
    enabled: true,
    tokne: "s3cret",
    mappings: [
      { channel: "slakc", messageTemplate: "\${UNSET}" },
      { deliver: "yes" },
    ],
  },
}`);
    const problems = await problemsOf(file);
    expect(placesOf(problems)).toEqual([
      [2, 26, "gateway.port"],
      [2, 26, "gateway.port"],
      [5, 5, "hooks.tokne"],
      [7, 27, "hooks.mappings[0].messageTemplate"],
      [8, 9, "hooks.mappings[1].deliver"],
    ]);
    expect(problems.every((problem) => problem.file === file)).toBe(true);
    expect(new ConfigError(problems).message).not.toContain("s3cret");
  });

  test("unknown keys and everything that breaks a rule come together, from top to bottom", async () => {
    const file = writeConfig(`{
  log: { level: "info", level: "warn" },
  hooks: {
    enabled: true,
    presets: ["gihub"],
    mappings: [
      { channel: "slakc", messageTemplate: "\${UNSET}", __proto__: 1 },
    ],
  },
  agents: { providers: { a: { kind: "openai", key: "x" } }, defaults: { models: [{ id: "a/b", name: "c" }] } },
  channel: {},
}`);
    const problems = await problemsOf(file);
    expect(placesOf(problems)).toEqual([
      [2, 25, "log.level"],
      [3, 3, "hooks.token"],
      [5, 15, "hooks.presets[0]"],
      [7, 9, "hooks.mappings[0].channel"],
      [7, 27, "hooks.mappings[0].messageTemplate"],
      [7, 56, "hooks.mappings[0].__proto__"],
      [10, 47, "agents.providers.a.key"],
      [10, 95, "agents.defaults.models[0].name"],
      [11, 3, "channel"],
    ]);
    expect(problems.every((problem) => problem.file === file)).toBe(true);
  });

  test("an unset variable is named with its key, and nothing else is said of that key", async () => {
    const file = writeConfig(
      '{ agents: { providers: { a: { kind: "openai", baseUrl: "${BASE}" } }, defaults: { model: "a/x" } } }',
    );
    expect(await problemsOf(file)).toEqual([
      {
        file,
        line: 1,
        column: 47,
        key: "agents.providers.a.baseUrl",
        message: "The environment variable BASE is not set. Set it.",
      },
    ]);
  });

  test("warnings have their places too", async () => {
    const file = writeConfig("gateway: { auth: { token: long } }\nhooks:\n  enabled: true\n  token: short\n", "a.yml");
    const { warnings } = await readConfig(file, {});
    expect(warnings).toEqual([
      { file, line: 4, column: 3, key: "hooks.token", message: expect.stringContaining("shorter than 24") },
    ]);
  });

  test("bad syntax stops there", async () => {
    const file = writeConfig('{ hooks: { enabled: true, path: "/" }\n');
    expect(await problemsOf(file)).toEqual([
      { file, line: 1, column: 38, message: expect.stringContaining("This is not JSON5") },
    ]);
  });

  test("a file that cannot be read is one as well", async () => {
    const [problem] = await problemsOf("/absent/webhooks.json5");
    expect(problem).toMatchObject({
      file: "/absent/webhooks.json5",
      message: expect.stringContaining("ENOENT"),
    });
  });

  test("no secret is ever printed", async () => {
    const config = {
      gateway: { auth: { token: "s3cret" } },
      hooks: {
        enabled: true,
        token: "s3cret",
        presets: [{ use: "mail", with: { secret: "s3cret" } }],
        mappings: [{ transform: { module: 1, secrets: { A: "s3cret", B: ["s3cret"] } } }],
      },
      agents: {
        providers: {
          a: { kind: "openai-compatible", apiKey: ["s3cret"], headers: { authorization: { s3cret: 1 } } },
        },
        defaults: { model: "b/c" },
      },
      channels: { slack: { token: ["s3cret"] }, signal: { token: "s3cret" } },
    };
    const problems = await problemsOf(writeConfig(JSON.stringify(config)));
    expect(problems.length).toBeGreaterThan(6);
    expect(new ConfigError(problems).message).not.toContain("s3cret");
  });
});

test("keys x-… at the top are ignored, and are a place for anchors", async () => {
  const text = `x-target: &target
  channel: slack
  to: "#\${GONE}"
x-deliver: &deliver true
hooks:
  mappings:
    - { id: a, match: { path: a }, messageTemplate: a, deliver: *deliver }
  x-inner: 1
`;
  const { config, problems } = await readConfig(writeConfig(text, "a.yaml"), {});
  expect(config.hooks.mappings[0]?.mapping).toMatchObject({ deliver: true });
  expect(problems.map(({ key }) => key)).toEqual(["hooks.x-inner"]);
});

test("a problem shows a reference instead of its value", async () => {
  const mapping = { channel: "${NAME}", messageTemplate: "a {{${NAME}" };
  const with_ = { name: "${NAME}", channel: "slack" };
  const config = { hooks: { mappings: [mapping], presets: [{ use: "mail", with: with_ }] }, channels: {} };
  const { problems, place } = await readConfig(writeConfig(JSON.stringify(config)), { NAME: "s3cret" });
  expect(problems[0]?.message).toMatch(/^There is no channel "\$\{NAME\}"/);
  const message = 'Parse error in "a {{s3cret"';
  const problem = { key: "hooks.mappings[0].messageTemplate", message, excerpt: "a {{s3cret\n    ^" };
  expect(place(problem)).toMatchObject({ message: 'Parse error in "a {{${NAME}"', excerpt: undefined });
  // A caret's line has 20 characters of what is before it.
  expect(place({ ...problem, excerpt: "...s3cr{{\n-------^" }).excerpt).toBeUndefined();
  expect(place({ ...problem, file: "/a.ts", line: 1, excerpt: "a" }).excerpt).toBe("a");
  const other = { key: "hooks.mappings[0].id", message: "s3cret", excerpt: "s3cret" };
  expect(place(other)).toMatchObject(other);
});

test("a configuration that breaks a rule is given beside its problems", async () => {
  const file = writeConfig('{ hooks: { enabled: true, mappings: [{ messageTemplate: "a" }] } }');
  const { config, problems } = await readConfig(file, {});
  expect(problems.map(({ key }) => key)).toEqual(["hooks.token"]);
  expect(config.hooks).toMatchObject({ enabled: true, maxFanOut: 1000, mappings: [{ id: "mapping-0" }] });
});

test("a later problem is placed in the configuration or in a preset's file", async () => {
  const { place, files } = await readConfig(writeConfig('{\n  hooks: { presets: ["mail"] } }'), {});
  expect(place({ key: "hooks.presets[0]", message: "" })).toMatchObject({ file: files[0], line: 2, column: 22 });
  const key = "mappings[0].messageTemplate";
  expect(place({ file: files[1], key, message: "" }).line).toBeGreaterThan(10);
  expect(place({ file: "/another/file", key: "hooks", message: "" }).line).toBeUndefined();
});

describe("a program's own object", () => {
  test("is resolved as a file is, relative to the current folder", async () => {
    const user: UserConfig = {
      gateway: { host: undefined },
      hooks: { mappings: [{ messageTemplate: "${NAME}", name: undefined }] },
    };
    const { config, files, problems, place } = await readConfig(user, { NAME: "value" });
    const transformsDir = path.resolve("transforms");
    expect(problems).toEqual([]);
    expect(config).toMatchObject({
      file: undefined,
      gateway: { host: "127.0.0.1" },
      store: { path: path.resolve(".webhooks") },
    });
    expect(config.hooks.mappings).toStrictEqual([
      {
        mapping: { messageTemplate: "value" },
        written: { messageTemplate: "${NAME}" },
        id: "mapping-0",
        file: undefined,
        key: "hooks.mappings[0]",
        transformsDir,
        baseDir: process.cwd(),
      },
    ]);
    expect(files).toEqual([]);
    expect(place({ key: "hooks", message: "x" })).toEqual({ file: undefined, key: "hooks", message: "x" });
  });

  test("has problems that name their keys", async () => {
    const user = { hooks: { path: "/", mappings: [{ channel: "x", messageTemplate: "${NO}" }] } };
    const { problems } = await readConfig(user, {});
    expect(problems.map(({ key }) => key)).toEqual([
      "hooks.mappings[0].messageTemplate",
      "hooks.path",
      "hooks.mappings[0].channel",
    ]);
  });
});

function folderWith(...names: string[]): string {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-find-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of names) writeFileSync(path.join(folder, name), "{}");
  return folder;
}

test("--config comes before WEBHOOKS_CONFIG, which comes before the usual names", () => {
  const cwd = folderWith("a.json5", "b.yaml", "webhooks.json5");
  const env = { WEBHOOKS_CONFIG: "b.yaml" };
  expect(findConfigFile({ flag: "a.json5", env, cwd })).toBe(path.join(cwd, "a.json5"));
  expect(findConfigFile({ env, cwd })).toBe(path.join(cwd, "b.yaml"));
  expect(findConfigFile({ env: { WEBHOOKS_CONFIG: "" }, cwd })).toBe(path.join(cwd, "webhooks.json5"));
});

test.each(["webhooks.json5", "webhooks.jsonc", "webhooks.yaml", "webhooks.yml", "webhooks.json"])(
  "%s is found",
  (name) => {
    const cwd = folderWith(name);
    expect(findConfigFile({ env: {}, cwd })).toBe(path.join(cwd, name));
  },
);

test("what is named must be there, and be a file", () => {
  const cwd = folderWith("webhooks.json5");
  mkdirSync(path.join(cwd, "folder"));
  expect(() => findConfigFile({ flag: "absent.yaml", env: {}, cwd })).toThrow(/absent\.yaml.*--config/);
  expect(() => findConfigFile({ env: { WEBHOOKS_CONFIG: "folder" }, cwd })).toThrow(/folder.*WEBHOOKS_CONFIG/);
});

test("a second configuration in the folder is warned of", async () => {
  const cwd = folderWith("webhooks.yaml", "webhooks.json");
  expect((await readConfig(path.join(cwd, "webhooks.yaml"), {})).warnings).toEqual([
    {
      file: path.join(cwd, "webhooks.json"),
      message: "This file is not read, because webhooks.yaml is. Remove one of them.",
    },
  ]);
  expect((await readConfig(path.join(cwd, "webhooks.json"), {})).warnings).toEqual([]);
});

test("with none, the error says what was looked for and where", () => {
  const cwd = folderWith();
  expect(() => findConfigFile({ env: {}, cwd })).toThrow(ConfigError);
  expect(() => findConfigFile({ env: {}, cwd })).toThrow(/webhooks\.json5, .*webhooks\.json in .*find-.*--config/);
});

test("a section of YAML that holds nothing but comments is empty", async () => {
  const text = [
    "hooks:",
    "  # enabled: true",
    "  mappings:",
    "    # - match: { path: deploys }",
    "agents:",
    "  providers:",
    "    # openai: { kind: openai }",
    "  defaults:",
    "channels:",
    "gateway:",
    "  auth:",
    "store:",
  ];
  const { problems, config } = await readConfig(writeConfig(`${text.join("\n")}\n`, "webhooks.yaml"), {});
  expect(problems).toEqual([]);
  expect(config.hooks.mappings).toEqual([]);
  const wrong = writeConfig("gateway:\n  port:\nchannels:\n  slack:\n", "webhooks.yaml");
  await expect(readConfig(wrong, {})).rejects.toMatchObject({
    problems: [{ key: "gateway.port" }, { key: "channels.slack" }],
  });
});
