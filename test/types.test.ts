/** `hookline.d.ts`: what `types` writes, and which mistakes the compilers find with it. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../src/cli/main.ts";
import { type CliResult, createTestIo, run, startWebhooks } from "./support/cli.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN } from "./support/service.ts";

const root = path.join(import.meta.dirname, "..");
const folder = mkdtempSync(path.join(tmpdir(), "hookline-types-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** No value of these may be in the types. */
const SECRET = "value-of-a-variable-0123456789";
const config = {
  gateway: { auth: { token: GATEWAY_TOKEN } },
  hooks: {
    enabled: true,
    token: HOOK_TOKEN,
    presets: [
      { use: "gitlab", with: { secret: "${SECRET}", path: "git/lab", transform: { module: "gitlab.ts" } } },
      { use: "homeassistant", with: { state: "house", transform: { module: "house.ts" } } },
      "./presets/acme",
    ],
    mappings: [
      {
        id: "ci",
        match: { path: "ci" },
        state: true,
        transform: { module: "ci.ts", secrets: { apiKey: "${SECRET}" } },
        deliver: [
          { name: "ops", channel: "slack", to: "C0123456789" },
          { name: "audit", channel: "slack", to: "C0123456780" },
        ],
      },
      {
        id: "nightly",
        match: { path: "${SECRET}" },
        transform: { module: "./ci.ts", secrets: { apiKey: "${SECRET}", other: "x" } },
      },
      { id: "digest", schedule: { every: "15m" }, state: "house", transform: { module: "digest.ts" } },
      { id: "own", match: { path: "own" }, state: true, transform: { module: "own.mts" } },
    ],
  },
  agents: {
    providers: { openai: { kind: "openai", apiKey: "${SECRET}" } },
    defaults: { model: "openai/gpt-5.2", models: ["openai/gpt-5.2", { id: "openai/gpt-5-mini", alias: "mini" }] },
  },
  channels: { slack: { token: "${SECRET}" }, "slack:eu": { token: "${SECRET}" } },
};

/** Right uses, and mistakes: each is one error, in a file of its own. */
const RIGHT: Record<string, string> = {
  "ci.ts": `import type { Module } from "hookline";
const ci: Module<"ci.ts"> = ({ payload, base, secrets, mapping, hook }) => {
  const job: string | null | undefined = payload.job;
  if (mapping === "nightly" && hook === "anything") return [{ ...base, channel: "slack:eu" }, null];
  return { message: secrets.apiKey + (secrets.other ?? "") + job, deliver: ["ops"], model: "mini", channel: "last" };
};
export default ci;
`,
  "own.mts": `import type { Module, TransformResult } from "hookline";
export type Payload = { id: number } | { name: string };
const own: Module<"own.mts"> = async ({ payload, state }): Promise<TransformResult> => {
  state.set("last", "id" in payload ? payload.id : payload.name);
  return { message: "x", channel: "source", model: "openai/gpt-5-mini" };
};
export default own;
`,
  "gitlab.ts": `import type { Known, Module, Transform } from "hookline";
import type { GitLab } from "hookline/presets";
const all: Module<"gitlab.ts"> = ({ event, payload, hook }) => {
  const path: "git/lab" = hook;
  if (event !== "note.create") return undefined;
  const further: unknown = payload.further;
  return { message: path + payload.object_attributes.note + further };
};
export const known: Transform<Known<GitLab<"note.create">>> = ({ event, payload }) => {
  const name: "note.create" = event;
  return { message: name + payload.object_attributes.note };
};
export default all;
`,
  "digest.ts": `import type { Module } from "hookline";
const digest: Module<"digest.ts"> = ({ hook, payload, state }) => {
  const name: "schedule/digest" = hook;
  return { message: name + payload.local + String(state.get("held")) };
};
export default digest;
`,
  "house.ts": `import type { Module } from "hookline";
const house: Module<"house.ts"> = ({ base, state }) => {
  state.set("held", base.message, { ttl: "1h" });
  return null;
};
export default house;
`,
};
const HEAD = 'import type { Known, Module, Transform, TransformResult } from "hookline";\n';
const MISTAKES: Record<string, string> = {
  "a channel that is not configured": 'export const f: Transform = () => ({ message: "x", channel: "slak" });',
  "a model that is not on the list": 'export const f: Transform = () => ({ message: "x", model: "openai/gpt-4" });',
  "a misspelled field of a result":
    'export const f: Module<"ci.ts"> = (): TransformResult => ({ message: "x", chanel: "last" });',
  "a target that no mapping has": 'export const f: Module<"ci.ts"> = () => ({ message: "x", deliver: ["opps"] });',
  "a secret that no mapping has": 'export const f: Module<"ci.ts"> = ({ secrets }) => ({ message: secrets.apiKei });',
  "a secret that one mapping lacks":
    'export const f: Module<"ci.ts"> = ({ secrets }) => ({ message: secrets.other.trim() });',
  "state that one mapping lacks": 'export const f: Module<"ci.ts"> = ({ state }) => state.set("a", 1);',
  "a module that is not configured": 'export const f: Module<"c.ts"> = () => null;',
  "a mapping that does not call it":
    'export const f: Module<"ci.ts"> = ({ mapping }) => (mapping === "own" ? null : undefined);',
  "a hook that does not lead to it":
    'export const f: Module<"own.mts"> = ({ hook }) => (hook === "ci" ? null : undefined);',
  "a field that no sample has": 'export const f: Module<"ci.ts"> = ({ payload }) => ({ message: payload.jop });',
  "a field that its Payload lacks":
    'export const f: Module<"own.mts"> = ({ payload }) => ({ message: payload.title });',
  "an event that the preset lacks":
    'export const f: Module<"gitlab.ts"> = ({ event }) => (event === "note.creat" ? null : undefined);',
  "a misspelled field of a known payload":
    'export const f: Transform<Known<import("hookline/presets").GitLab<"note.create">>> = ({ payload }) => (payload.object_atributes ? null : undefined);',
};

/** The files of a preset of one's own, with its module. */
const ACME: Record<string, string> = {
  "preset.json": JSON.stringify({
    name: "acme",
    description: "Deployments of Acme.",
    common: { transform: { module: "shape.ts" } },
    mappings: [{ state: true }],
  }),
  "samples/one.json": '{ "app": "shop" }',
  "shape.ts": `import type { Module } from "hookline";
const shape: Module<"shape.ts"> = ({ payload, hook, state }) => {
  const name: "acme" = hook;
  state.set("last", payload.app);
  return { message: name + payload.app + String(payload.further) };
};
export default shape;
`,
};

const files = {
  ...RIGHT,
  ...Object.fromEntries(Object.entries(MISTAKES).map(([name, code]) => [toFile(name), `${HEAD}${code}\n`])),
  "ci.samples/one.json": '{ "job": "build", "n": 1 }',
  "ci.samples/two.json": '{ "job": null, "more": [{ "a": 1 }] }',
  "ci.samples/broken.json": "{",
};
const env = { SECRET };

/** With the package in its `node_modules`, and with nothing. */
const PROJECTS = ["installed", "alone"] as const;
beforeAll(async () => {
  for (const name of PROJECTS) {
    const project = path.join(folder, name);
    write(project, "webhooks.json", JSON.stringify(config));
    for (const [file, text] of Object.entries(files)) write(project, `transforms/${file}`, text);
    for (const [file, text] of Object.entries(ACME)) write(project, `presets/acme/${file}`, text);
    if (name === "installed") install(project);
    else cpSync(path.join(root, "transforms/tsconfig.json"), path.join(project, "transforms/tsconfig.json"));
    await runCli(["types"], createTestIo(project, { env }).io);
  }
}, 60_000);

test("the module of a preset of one's own has types, and compiler options", async () => {
  for (const name of PROJECTS) {
    expect(read(name, "presets/acme/hookline.d.ts")).toContain('"shape.ts": {');
    const args = [path.join(root, COMPILERS["7"], "bin/tsc"), "-p", "presets/acme", "--noEmit", "--pretty", "false"];
    expect((await run(path.join(folder, name), process.execPath, args)).stdout).toBe("");
  }
});

test("the types have names of the configuration, and no value", () => {
  const [installed = "", alone = ""] = PROJECTS.map((name) => read(name, "transforms/hookline.d.ts"));
  expect(alone).toContain(installed.slice(installed.indexOf("declare module")));
  expect(alone).toContain("export type Transform<");
  expect(installed).not.toContain("export type");
  for (const text of [installed, alone]) expect(text).toContain("time zone is UTC");
  expect(alone + installed).not.toMatch(new RegExp(`${SECRET}|C0123456789`));
  expect(installed).toContain(`    "ci.ts": {
      mappings: "ci" | "nightly";
      hooks: string;
      targets: "ops" | "audit";
      secrets: { apiKey: string; other?: string };
      state: false;
      payload: {
        job?: string | null;
        n?: number;
        more?: {
          a?: number;
        }[];
      };
    };`);
});

const COMPILERS = {
  "7": "node_modules/typescript",
  "5.9": "node_modules/typescript-json-schema/node_modules/typescript",
};

test.each(["7", "5.9"] as const)("TypeScript %s finds each mistake, and nothing else", async (version) => {
  const compiler = path.join(root, COMPILERS[version]);
  const manifest = JSON.parse(readFileSync(path.join(compiler, "package.json"), "utf8"));
  expect(manifest.version).toMatch(new RegExp(`^${RegExp.escape(version)}\\.`));
  const args = [path.join(compiler, "bin/tsc"), "-p", "transforms", "--noEmit", "--pretty", "false"];
  const { stdout } = await run(path.join(folder, "installed"), process.execPath, args);
  const found = Array.from(stdout.matchAll(/^transforms\/(.*?)\(/gm), ([, place = ""]) => place);
  expect(found.toSorted()).toEqual(Object.keys(MISTAKES).map(toFile).toSorted());
});

test("check --types warns of types that are not current, and dev makes them so", async () => {
  const project = path.join(folder, "installed");
  const check = async (): Promise<string> => {
    const { stdout } = await webhooks(project, "check", "--types", "--json");
    const { warnings }: { warnings: { file?: string; message: string }[] } = JSON.parse(stdout);
    const stale = warnings.filter(({ file }) => file?.endsWith(".d.ts"));
    return [...new Set(stale.map(({ message }) => message))].join();
  };
  expect(await check()).toBe("");
  const port = { gateway: { ...config.gateway, port: 0 } };
  write(
    project,
    "webhooks.json",
    JSON.stringify({ ...config, ...port, channels: { ...config.channels, telegram: { token: "1:x" } } }),
  );
  expect(await check()).toBe("These types are not those of the configuration. Run `npx hookline types`.");
  rmSync(path.join(project, "transforms"), { recursive: true });
  for (const [file, text] of Object.entries(RIGHT)) write(project, `transforms/${file}`, text);
  write(project, "transforms/hookline.d.ts", "");
  const dev = startWebhooks(project, ["dev", "--port", "0"], { env });
  await expect
    .poll(() => read("installed", "transforms/hookline.d.ts"))
    .toContain('channels: "slack" | "slack:eu" | "telegram";');
  write(project, "webhooks.json", JSON.stringify({ ...config, ...port }));
  await expect.poll(() => read("installed", "transforms/hookline.d.ts")).toContain('channels: "slack" | "slack:eu";');
  rmSync(path.join(project, "transforms/hookline.d.ts"));
  dev.stop();
  await dev.ended;
});

test("types says so if there is no folder", async () => {
  const project = path.join(folder, "empty");
  write(project, "webhooks.json", "{}");
  expect(await webhooks(project, "types")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("`webhooks transform new <name>` writes a transform."),
  });
});

function webhooks(project: string, ...args: string[]): Promise<CliResult> {
  return startWebhooks(project, args, { env }).ended;
}

/** A package whose types are those of the source. */
function install(project: string): void {
  const source = path.join(root, "src/core/transforms/transform-types.ts");
  const exports = {
    ".": { types: "./index.d.ts" },
    "./globals": { types: "./globals.d.ts" },
    "./presets": { types: "./presets/index.d.ts" },
  };
  write(project, "node_modules/hookline/package.json", JSON.stringify({ name: "hookline", version: "0.1.0", exports }));
  write(project, "node_modules/hookline/index.d.ts", `export type * from ${JSON.stringify(source)};\n`);
  write(project, "node_modules/hookline/globals.d.ts", "export {};\n");
  const types =
    'export type { GitLab } from "./gitlab/types.d.ts";\nexport type { HomeAssistant } from "./homeassistant/types.d.ts";\n';
  write(project, "node_modules/hookline/presets/index.d.ts", types);
  for (const name of ["gitlab", "homeassistant"]) {
    const file = `presets/${name}/types.d.ts`;
    write(project, `node_modules/hookline/${file}`, readFileSync(path.join(root, file), "utf8"));
  }
  cpSync(path.join(root, "transforms/tsconfig.json"), path.join(project, "transforms/tsconfig.json"));
}

function toFile(mistake: string): string {
  return `${mistake.replaceAll(" ", "-")}.ts`;
}

function read(name: string, file: string): string {
  return readFileSync(path.join(folder, name, file), "utf8");
}

function write(project: string, file: string, text: string): void {
  mkdirSync(path.dirname(path.join(project, file)), { recursive: true });
  writeFileSync(path.join(project, file), text);
}
