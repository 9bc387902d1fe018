import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readConfig } from "../config/load.ts";
import { ConfigError, type ConfigProblem } from "../errors.ts";
import { buildProgram } from "./build.ts";

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
      message: expect.stringMatching(`^this is no recipient for ${channel}\\. Expected `),
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
  ])("%j has nothing to be told of before a request comes", async (mapping) => {
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
    { key: "hooks.mappings[0].auth.secret", message: "must be user:password" },
  ]);
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
  const runner = { check: async () => [], run: () => Promise.reject(new Error("there are no transforms")) };
  try {
    await buildProgram({ generation: 1, load: () => readConfig(configFile(), {}), runner } as never);
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
