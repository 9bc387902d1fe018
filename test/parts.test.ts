import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { runWebhooks } from "./support/cli.ts";
import { startService } from "./support/service.ts";

const part = (...ids: string[]): string =>
  JSON.stringify({ hooks: { mappings: ids.map((id) => ({ id, match: { path: id }, messageTemplate: id })) } });

/** A version of a ConfigMap in a folder, in the layout of the kubelet, and the swap to it. */
function mountVersion(mount: string, version: string, files: Record<string, string>): void {
  mkdirSync(path.join(mount, version), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(mount, version, name), text);
  symlinkSync(version, path.join(mount, "..data_tmp"));
  renameSync(path.join(mount, "..data_tmp"), path.join(mount, "..data"));
}

/** A change of the folder, and the mappings after it, or what the refused reload says. */
type Step = [name: string, act: (folder: string) => void, expected: string[] | RegExp];

const write = (name: string, text: string) => (folder: string) => {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), text);
};
const move = (from: string, to: string) => (folder: string) =>
  renameSync(path.join(folder, from), path.join(folder, to));
const remove = (name: string) => (folder: string) => rmSync(path.join(folder, name), { recursive: true });

const STEPS: Step[] = [
  ["a part changes", write("teams/a/hooks.yaml", part("a1")), ["a1", "m1"]],
  ["a part appears", write("teams/a/more.yaml", part("a2")), ["a1", "a2", "m1"]],
  ["a folder with a part appears", write("teams/b/hooks.yaml", part("b")), ["a1", "a2", "b", "m1"]],
  ["a folder gets another name", move("teams/b", "teams/c"), ["a1", "a2", "b", "m1"]],
  ["a part gets a name that is none of a part", move("teams/a/more.yaml", "teams/a/other.yml"), ["a1", "b", "m1"]],
  [
    "a part is replaced by a rename",
    (folder) => {
      write("teams/a/hooks.yaml~", part("a3"))(folder);
      move("teams/a/hooks.yaml~", "teams/a/hooks.yaml")(folder);
    },
    ["a3", "b", "m1"],
  ],
  ["a part breaks", write("teams/c/hooks.yaml", `${part("b")} ]`), /teams\/c\/hooks\.yaml:1:\d+: This is not YAML/],
  ["and is repaired", write("teams/c/hooks.yaml", part("b", "b2")), ["a3", "b", "b2", "m1"]],
  [
    "two parts have one id",
    write("teams/d/hooks.yaml", part("b")),
    /teams\/d\/hooks\.yaml:1:\d+ .*: "b" is already the id of hooks\.mappings\[0\] in teams\/c\/hooks\.yaml:1:\d+/,
  ],
  ["and one goes", remove("teams/d/hooks.yaml"), ["a3", "b", "b2", "m1"]],
  ["a folder goes", remove("teams/c"), ["a3", "m1"]],
  [
    "a ConfigMap is swapped",
    (folder) => mountVersion(path.join(folder, "mount"), "..2", { "m.yaml": part("m2") }),
    ["a3", "m2"],
  ],
  [
    "a ConfigMap gets another part",
    (folder) => {
      mountVersion(path.join(folder, "mount"), "..3", { "m.yaml": part("m3"), "n.yaml": part("n") });
      symlinkSync("..data/n.yaml", path.join(folder, "mount/n.yaml"));
    },
    ["a3", "m3", "n"],
  ],
  ["the whole folder goes", remove("teams"), ["m3", "n"]],
];

test("14 changes of parts are 14 reloads, and other files are none", async () => {
  const service = await startService({
    config: { include: ["teams/*/*.yaml", "mount/*.yaml"] },
    files: { "teams/a/hooks.yaml": part("a") },
    prepare(folder) {
      mkdirSync(path.join(folder, "mount"));
      mountVersion(path.join(folder, "mount"), "..1", { "m.yaml": part("m1") });
      symlinkSync("..data/m.yaml", path.join(folder, "mount/m.yaml"));
    },
    watch: true,
  });
  onTestFinished(() => service.close());
  const read = async () => {
    const { config, lastReloadError: refused } = await service.api("/api/status");
    return { generation: config.generation, mappings: config.mappings, refused: refused?.at, problem: refused };
  };
  let before = await read();
  for (const [name, act, expected] of STEPS) {
    for (const other of ["teams/a/README.md", "teams/a/.hooks.yaml", "teams/a/x.txt"])
      if (name !== "the whole folder goes") write(other, name)(service.folder);
    act(service.folder);
    await expect
      .poll(read, { timeout: 20_000, message: name })
      .toSatisfy(
        ({ generation, refused }) =>
          generation !== before.generation || (refused !== undefined && refused !== before.refused),
      );
    // A second reload of the same change would come with the next events.
    await sleep(150);
    const after = await read();
    if (expected instanceof RegExp) {
      const { file, line, column, key, message } = after.problem;
      const place = [path.relative(service.folder, file), line, column].join(":");
      expect(`${place}${key === undefined ? "" : ` ${key}`}: ${message}`).toMatch(expected);
      expect(after.generation).toBe(before.generation);
    } else {
      expect([name, after.mappings, after.problem]).toEqual([name, expected, null]);
      expect([name, after.generation]).toEqual([name, before.generation + 1]);
    }
    before = after;
  }
});

function writeProject(files: Record<string, string>): string {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-cli-parts-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) write(name, text)(folder);
  return folder;
}

const PROJECT = {
  "webhooks.yaml": "# main\ninclude: [common.yaml, teams/*/*.yaml]\ngateway: { port: 0 }\n",
  "common.yaml": `# common\ngateway: { auth: { token: "${"g".repeat(30)}" } }\nhooks: { enabled: true, token: "${"t".repeat(30)}" }\n`,
  "teams/a/hooks.yaml": `# a\nhooks:\n  transformsDir: mine\n  presets:\n    - { use: github, with: { secret: "${"s".repeat(20)}", from: ['@octocat'] } }\n`,
  "teams/b/hooks.yaml": `# b\nhooks:\n  mappings:\n    - { id: b, match: { path: b }, messageTemplate: b }\n`,
};

describe("commands change what exists where it is", () => {
  test.each<[args: string[], changed: string, text: string | RegExp]>([
    [["presets", "enable", "gitlab", "--secret", "x".repeat(20)], "webhooks.yaml", "use: gitlab"],
    [
      ["presets", "enable", "gitlab", "--secret", "x".repeat(20), "--part", "teams/b/hooks.yaml"],
      "teams/b/hooks.yaml",
      "use: gitlab",
    ],
    [
      ["presets", "enable", "gitlab", "--secret", "x".repeat(20), "--part", "teams/c/new.yaml"],
      "teams/c/new.yaml",
      "use: gitlab",
    ],
    [["presets", "disable", "github"], "teams/a/hooks.yaml", /presets: *\[\]/],
    [["presets", "copy", "github"], "teams/a/hooks.yaml", "id: github-"],
    [["token", "rotate", "default"], "common.yaml", "hook-token-2"],
    [["transform", "new", "ci"], "webhooks.yaml", "id: ci"],
    [["transform", "new", "ci", "--part", "teams/a/hooks.yaml"], "teams/a/hooks.yaml", "id: ci"],
    [["transform", "new", "gh", "--preset", "github"], "teams/a/hooks.yaml", "module: gh.ts"],
    [
      [
        "mail",
        "setup",
        "--address",
        "me@example.com",
        "--kind",
        "imap",
        "--host",
        "127.0.0.1",
        "--password-env",
        "MAIL_PASSWORD",
        "--no-check",
      ],
      "webhooks.yaml",
      "me@example.com",
    ],
  ])("%j", async (args, changed, expected) => {
    const folder = writeProject(PROJECT);
    const writes = ["presets", "token", "mail"].includes(args[0] ?? "") && args[1] !== "copy";
    const { code, stderr, stdout } = await runWebhooks(folder, ...args, ...(writes ? ["--yes"] : []));
    expect([code, stdout, stderr]).toEqual([0, expect.anything(), expect.anything()]);
    const text = readFileSync(path.join(folder, changed), "utf8");
    expect(text).toMatch(expected);
    const others = Object.entries(PROJECT).filter(([name]) => name !== changed);
    for (const [name, before] of others) expect(readFileSync(path.join(folder, name), "utf8")).toBe(before);
    // The others have checked the result themselves.
    if (args[0] === "transform") expect((await runWebhooks(folder, "check")).code).toBe(0);
  });

  test("a new module is in the folder of its part", async () => {
    const folder = writeProject(PROJECT);
    await runWebhooks(folder, "transform", "new", "ci", "--part", "teams/a/hooks.yaml");
    expect(readFileSync(path.join(folder, "teams/a/mine/ci.ts"), "utf8")).toContain("export default");
  });

  test.each([
    ["presets", "enable", "gitlab", "--secret", "x".repeat(20), "--yes"],
    ["transform", "new", "ci"],
  ])("a file that is no part is refused: %s %s", async (...args) => {
    const folder = writeProject({ ...PROJECT, "other.yaml": "" });
    const { code, stderr } = await runWebhooks(folder, ...args, "--part", "other.yaml");
    expect(code).toBe(1);
    expect(stderr).toContain(`other.yaml: This file is no part of ${path.join(folder, "webhooks.yaml")}`);
    expect(readFileSync(path.join(folder, "other.yaml"), "utf8")).toBe("");
  });

  test.each([
    ["openai:gpt-5.2", { "common.yaml": "model: openai/gpt-5.2", "teams/a/hooks.yaml": "apiKey: ${OPENAI_API_KEY}" }],
    [
      "anthropic:opus",
      { "common.yaml": "model: anthropic/opus", "webhooks.yaml": "anthropic:\n      kind: anthropic" },
    ],
  ])("init --model %s: the provider and the name are in different files", async (model, expected) => {
    const files: Record<string, string> = {
      ...PROJECT,
      "common.yaml": `${PROJECT["common.yaml"]}agents: { defaults: { model: openai/gpt-4 } }\n`,
      "teams/a/hooks.yaml": `${PROJECT["teams/a/hooks.yaml"]}agents:\n  providers:\n    openai: { kind: openai, apiKey: x }\n`,
    };
    const folder = writeProject(files);
    const { code, stdout } = await runWebhooks(folder, "init", "--model", model, "--json", "--yes");
    expect([code, JSON.parse(stdout).written]).toEqual([0, expect.arrayContaining([path.join(folder, "common.yaml")])]);
    for (const [name, before] of Object.entries(files)) {
      const text = readFileSync(path.join(folder, name), "utf8");
      const change: string | undefined = Object.entries(expected).find(([file]) => file === name)?.[1];
      if (change === undefined) expect(text).toBe(before);
      else expect(text).toContain(change);
    }
  });

  test("a variable that is set elsewhere has the type of its place", async () => {
    const folder = writeProject({
      ...PROJECT,
      "common.yaml": `${PROJECT["common.yaml"]}agents: { defaults: { maxSteps: "\${MAX_STEPS}" } }\n`,
    });
    const { code } = await runWebhooks(folder, "presets", "enable", "gitlab", "--secret", "x".repeat(20), "--yes");
    expect(code).toBe(0);
  });
});

test("check lists the files, and the hooks of each part", async () => {
  const folder = writeProject(PROJECT);
  const { stdout } = await runWebhooks(folder, "check");
  expect(stdout.split("\n")).toEqual(
    expect.arrayContaining([
      "hooks of webhooks.yaml: none",
      "hooks of common.yaml: none",
      "hooks of teams/a/hooks.yaml: github",
      "hooks of teams/b/hooks.yaml: b",
    ]),
  );
  const files = Object.keys(PROJECT).map((name) => path.join(folder, name));
  expect(JSON.parse((await runWebhooks(folder, "check", "--json")).stdout)).toMatchObject({
    ok: true,
    file: files[0],
    files,
  });
  write("teams/b/hooks.yaml", "{")(folder);
  const broken = JSON.parse((await runWebhooks(folder, "check", "--json")).stdout);
  expect(broken).toMatchObject({ ok: false, files, problems: [{ file: files[3], line: 1 }] });
});

test("the samples of each part's transforms run, once, also those of a schedule", async () => {
  const toModule = (message: string): string => `export default ({ payload }) => ({ message: ${message} });\n`;
  const schedule = "schedule: { every: 6h }";
  const folder = writeProject({
    ...PROJECT,
    "webhooks.yaml": `${PROJECT["webhooks.yaml"]}hooks: { transformsDir: teams }\nchannels: { slack: { token: "\${SLACK}" } }\n`,
    "teams/b/hooks.yaml": [
      "hooks:",
      "  transformsDir: .",
      "  mappings:",
      `    - { id: own, ${schedule}, state: true, transform: { module: own.js }, agent: none, deliver: false }`,
      `    - { id: told, ${schedule}, messageTemplate: "It is {{local}}.", channel: slack, to: C01 }`,
      "",
    ].join("\n"),
    "teams/all.js": toModule('"all"'),
    "teams/all.samples/one.json": "{}",
    "teams/b/own.js": toModule("payload.schedule"),
    "teams/b/own.samples/one.json": JSON.stringify({ schedule: "own" }),
    "teams/b/schedule/told.samples/one.json": JSON.stringify({ local: "2027-01-01T06:00:00+00:00" }),
    "teams/a/mine/own.js": toModule('"other"'),
    "teams/a/mine/own.samples/one.json": "{}",
  });
  await runWebhooks(folder, "test", "--update");
  const places = ["teams all/one", "teams/a/mine own/one", "teams/b own/one", "teams/b schedule/told/one"];
  const { samples, ...counts } = JSON.parse((await runWebhooks(folder, "test", "--json")).stdout);
  expect(counts).toMatchObject({ ok: true, passed: 4 });
  const shown = samples.map(
    (row: { name: string; folder: string }) => `${path.relative(folder, row.folder)} ${row.name}`,
  );
  expect(shown.toSorted()).toEqual(places);
  const told = path.join(folder, "teams/b/schedule/told.samples/one.expected.json");
  expect(JSON.parse(readFileSync(told, "utf8"))).toMatchObject([
    { message: "It is 2027-01-01T06:00:00+00:00.", channel: "slack" },
  ]);
  const named = await runWebhooks(folder, "test", "own");
  expect(named.stdout).toMatch(/^own teams\/a\/mine$[^]*^own teams\/b$[^]*2 passed/m);
  expect((await runWebhooks(folder, "test", "teams/a/mine")).stdout).toMatch(/^own$[^]*1 passed/m);
});
