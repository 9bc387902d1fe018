/** The problems and offers of VS Code in a configuration that `init` wrote, by its own language server for JSON. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import type * as LanguageServer from "vscode-json-languageservice";
import { runWebhooks } from "./support/cli.ts";

const root = path.join(import.meta.dirname, "..");

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-editor-"));
  mkdirSync(path.join(folder, "node_modules"));
  symlinkSync(root, path.join(folder, "node_modules/hookline"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ["webhooks.jsonc", []],
  ["webhooks.json", ["--config", "webhooks.json"]],
  ["webhooks.jsonc", ["--preset", "github", "--model", "openai:gpt-5.2"]],
])("%s of init %j: nothing is underlined, and keys are completed with a description", async (name, flags) => {
  await runWebhooks(folder, "init", "--yes", ...flags);
  const text = readFileSync(path.join(folder, name), "utf8");
  expect(text).toContain('"$schema": "./node_modules/hookline/schemas/config.json"');
  expect(await validate(name, text)).toEqual([]);
  expect(await validate(name, text.replace('"enabled"', '"enabeld"'))).toEqual(["Property enabeld is not allowed."]);
  for (const [place, labels] of [
    ['"hooks": {', ["path", "tokens", "maxBodyBytes"]],
    ['"gateway": {', ["host", "publicUrl", "trustedProxies"]],
    ['"defaults": {', ["thinking", "timeoutSeconds", "heartbeat"]],
  ] as const) {
    const items = await complete(name, text, place);
    expect(items.map(({ label }) => label)).toEqual(expect.arrayContaining([...labels]));
    expect(items.filter(({ documentation }) => !documentation)).toEqual([]);
  }
});

test("init in a package of a workspace names the schema of the package that the workspace has installed", async () => {
  const member = path.join(folder, "packages/hooks");
  mkdirSync(member, { recursive: true });
  await runWebhooks(member, "init", "--yes");
  const text = readFileSync(path.join(member, "webhooks.jsonc"), "utf8");
  expect(text).toContain('"$schema": "../../node_modules/hookline/schemas/config.json"');
});

test.each([
  ["channels", '{ "channels": {', ["slack", "telegram", "email"]],
  ["the fields of a mapping", '{ "hooks": { "mappings": [{', ["match", "auth", "transform", "messageTemplate"]],
  ["the options of a preset", '{ "hooks": { "presets": [{ "use": "github", "with": {', ["secret", "events"]],
  ["the options of a provider", '{ "agents": { "providers": { "a": { "kind": "openai", ', ["apiKey"]],
])("completes %s, each with a description", async (_name, start, labels) => {
  const items = await complete(
    "webhooks.jsonc",
    `{ "$schema": "./node_modules/hookline/schemas/config.json", ${start.slice(1)}`,
    start.slice(1),
  );
  expect(items.map(({ label }) => label)).toEqual(expect.arrayContaining(labels));
  expect(items.filter(({ documentation }) => !documentation)).toEqual([]);
});

test("a reference may stand where another type than text is needed, and other texts may not", async () => {
  const config = (value: string) =>
    JSON.stringify({
      $schema: "./node_modules/hookline/schemas/config.json",
      include: ["teams/*.yaml"],
      gateway: { port: value, trustedProxies: value },
      hooks: {
        enabled: value,
        presets: [{ use: "github", with: { secret: "x", timeoutSeconds: value, events: value } }],
        mappings: [
          {
            id: "a",
            timeoutSeconds: value,
            auth: { scheme: "hmac", secret: "x", header: "x", toleranceSeconds: value },
          },
        ],
      },
      agents: { providers: { a: { kind: "openai", maxRetries: value } } },
      channels: { telegram: { token: "x", dryRun: value, allow: value } },
    });
  for (const reference of ["${V}", "${V:-1}", "${file:v}"]) {
    const found = await validate("webhooks.jsonc", config(reference));
    expect(found.filter((message) => !/not allowed/.test(message))).toEqual([]);
  }
  for (const text of ["$V", "x${V}", "$${V}"])
    expect((await validate("webhooks.jsonc", config(text))).length).toBeGreaterThan(7);
});

test("every key of the schema has a description", () => {
  const schema = JSON.parse(readFileSync(path.join(root, "schemas/config.json"), "utf8"));
  const isDescribed = ({ description, $ref }: { description?: string; $ref?: string }): boolean =>
    description !== undefined ||
    schema.definitions[$ref?.replace("#/definitions/", "") ?? ""]?.description !== undefined;
  const missing: string[] = [];
  JSON.stringify(schema, (_key, part) => {
    const properties = Object.entries<object>(part?.properties ?? {});
    missing.push(...properties.flatMap(([key, property]) => (isDescribed(property) ? [] : [key])));
    return part;
  });
  expect(missing).toEqual([]);
});

test("a configuration in YAML names the schema, and an editor reads its comments as they are", async () => {
  const { code } = await runWebhooks(folder, "init", "--yes", "--config", "webhooks.yaml");
  expect(code).toBe(0);
  const text = readFileSync(path.join(folder, "webhooks.yaml"), "utf8");
  expect(text).toMatch(/^# yaml-language-server: \$schema=\.\/node_modules\/hookline\/schemas\/config\.json\n/);
  expect(text).toContain("# POST /hooks/status");
  expect(await runWebhooks(folder, "check", "--strict")).toMatchObject({ code: 0 });
});

test("--vscode writes settings for JSON5 and YAML, unless there are some", async () => {
  mkdirSync(path.join(folder, ".vscode"));
  writeFileSync(path.join(folder, ".vscode/extensions.json"), "{}");
  await runWebhooks(folder, "init", "--yes", "--vscode", "--config", "webhooks.json5");
  expect(JSON.parse(readFileSync(path.join(folder, ".vscode/settings.json"), "utf8"))).toMatchObject({
    "files.associations": { "*.json5": "jsonc" },
    "json.schemas": [{ url: "./node_modules/hookline/schemas/config.json" }],
  });
  expect(readFileSync(path.join(folder, ".vscode/extensions.json"), "utf8")).toBe("{}");
});

const require = createRequire(import.meta.url);
const { getLanguageService, TextDocument }: typeof LanguageServer = require("vscode-json-languageservice");
const service = getLanguageService({
  schemaRequestService: (uri) => readFile(fileURLToPath(uri), "utf8"),
  workspaceContext: { resolveRelativePath: (relative, resource) => new URL(relative, resource).href },
});
// The settings of VS Code.
service.configure({ validate: true, allowComments: false });

function open(name: string, text: string) {
  const language = path.extname(name).slice(1);
  const document = TextDocument.create(pathToFileURL(path.join(folder, name)).href, language, 1, text);
  return { document, parsed: service.parseJSONDocument(document) };
}

async function validate(name: string, text: string): Promise<string[]> {
  const { document, parsed } = open(name, text);
  const settings = name.endsWith("c") ? ({ comments: "ignore", trailingCommas: "warning" } as const) : undefined;
  return (await service.doValidation(document, parsed, settings)).map(({ message }) =>
    typeof message === "string" ? message : message.value,
  );
}

/** The offers right after a text. */
async function complete(name: string, text: string, after: string) {
  const { document, parsed } = open(name, text);
  const position = document.positionAt(text.indexOf(after) + after.length);
  return (await service.doComplete(document, position, parsed))?.items ?? [];
}
