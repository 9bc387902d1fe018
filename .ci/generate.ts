/**
 * Generates files from the schemas: schemas/config.json and auth.json, the configuration's schema for editors;
 * src/core/config/schema/generated.ts, its types; transforms/hookline.d.ts, the types of a transform; presets/index.d.ts and
 * presets/<name>/types.d.ts, those of payloads; docs/reference/ and docs/presets/.
 * From Unicode's data: src/core/boundary/confusables.generated.ts. With --check, fails if a file is out of date.
 */
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { compile, type JSONSchema } from "json-schema-to-typescript";
import { builtInDrivers } from "../src/service/drivers.ts";
import { findPresets, readPreset } from "../src/core/config/presets/file.ts";
import { writeExample, writePresetPage } from "../src/core/config/presets/page.ts";
import { readSchema } from "../src/core/config/schema/validator.ts";
import { writeApiSchemas } from "./api-schemas.ts";
import { assembleAuth, assembleSchema } from "./config-schema.ts";
import { writeConfusables } from "./confusables.ts";
import { allowReferences, withReferences } from "./editor-references.ts";
import { writePackages } from "./packages.ts";
import { writePresetTypes } from "./preset-types.ts";
import { withPresets } from "./presets.ts";
import { MEMBERS } from "./reference-texts.ts";
import { NOTE, writeReference } from "./reference.ts";

const root = path.join(import.meta.dirname, "..");
const configSchema = assembleSchema(builtInDrivers);
const authSchema = assembleAuth(builtInDrivers.providers);

/** For editors alone: in types, such keys would allow every other key. */
const EXTENSIONS = { patternProperties: { "^x-": { description: "Ignored: a place for the anchors of YAML." } } };

// First: the answers of the API have these types.
await put("src/core/config/schema/generated.ts", await writeConfigTypes());
// Second: the reference reads it.
await put("schemas/api.json", writeApiSchemas());
const outputs = {
  "schemas/config.json": `${JSON.stringify({ ...withReferences(withPresets(configSchema)), ...EXTENSIONS }, undefined, 2)}\n`,
  "schemas/auth.json": `${JSON.stringify(allowReferences(authSchema), undefined, 2)}\n`,
  "transforms/hookline.d.ts": await writeTransformTypes(),
  "src/core/boundary/confusables.generated.ts": writeConfusables(),
  "docs/reference/packages.md": `${NOTE}\n${writePackages()}`,
  "docs/presets/README.md": `${NOTE}\n${writePresetIndex()}`,
  ...Object.fromEntries(
    findPresets().map((name) => [
      `docs/presets/${name}.md`,
      `${NOTE}\n${withMembers(name, withRegistration(name, writePresetPage(name)))}`,
    ]),
  ),
  ...writePresetTypes(),
  ...writeReference(configSchema, authSchema),
};
for (const [file, text] of Object.entries(outputs)) await put(file, text);

/** The page with what `--register` needs, before the events. */
function withRegistration(name: string, page: string): string {
  const { service, webhooks } = builtInDrivers.vendors[name] ?? {};
  if (!webhooks) return page;
  const maker = {
    us: "The command makes the secret",
    vendor: `${service} makes the secret`,
    app: "The secret is the app's: give it with `--secret`",
  }[webhooks.secretBy];
  const where = readPreset(name).preset.registration?.place ? ", where the option `place` says" : "";
  const section = `## Register it

\`npx hookline presets enable ${name} --register\` makes the webhook at ${service}${where}. Its token, \`apiToken\` or \`--token\`, needs ${webhooks.tokenNeeds}. ${maker}; it goes to \`.env\`.`;
  return page.replace(/^(?=## (?:Events|Options)$)/m, () => `${section}\n\n`);
}

function withMembers(name: string, page: string): string {
  const { from } = readPreset(name).preset;
  const members = MEMBERS[name];
  if (from?.default?.includes("member") && members === undefined) throw new Error(`MEMBERS lacks ${name}.`);
  if (members === undefined) return page;
  const section = `## Who may start a turn\n\nA *member*, in [\`from\`](../guide/authority.md#who-may-start-from), is ${members}.`;
  return page.replace(/^(?=## Options$)/m, () => `${section}\n\n`);
}

async function put(file: string, text: string): Promise<void> {
  if (!process.argv.includes("--check")) return writeFile(path.join(root, file), text);
  if ((await read(file).catch(() => "")) === text) return;
  console.error(`${file} is not current: run \`npm run generate\``);
  process.exitCode = 1;
}

async function writeConfigTypes(): Promise<string> {
  const parts = [
    await toTypes(readSchema("wake"), true),
    await toTypes(readSchema("agent"), true),
    await toTypes(readSchema("action")),
    await toTypes(readSchema("preset")),
    await toTypes(configSchema),
    await toTypes(toFilled({ ...readSchema("config.base"), title: "ValidConfig" })),
  ];
  return `// Generated from the schemas by \`npm run generate\`. Do not edit.\n\n${parts.join("\n")}`;
}

/** The configuration with its defaults filled in. The set of drivers is known only after plugins are loaded. */
function toFilled(schema: Record<string, unknown>): Record<string, unknown> {
  const block = "{ kind: string; [option: string]: unknown }";
  const types: Record<string, string> = {
    "mapping.json": "MappingInput",
    "mapping.json#/properties/grants": 'MappingInput["grants"]',
    "#/definitions/duration": "string",
    "#/definitions/agent": block,
    "#/definitions/mailSource": block,
    "#/definitions/toolSet": block,
    "#/definitions/channels": "Record<string, Record<string, unknown>>",
  };
  const { definitions: _, ...filled } = JSON.parse(JSON.stringify(schema), (_key, part) => {
    if (part?.$ref) return { ...part, $ref: undefined, tsType: types[part.$ref] };
    if (!part?.properties || !part.type?.includes("object")) return part;
    const defaulted = Object.keys(part.properties).filter((name) => part.properties[name].default !== undefined);
    return { ...part, required: [...(part.required ?? []), ...defaulted] };
  });
  return filled;
}

/** An object or a list of such objects, in a form that becomes a type. */
function withoutLists(schema: JSONSchema): JSONSchema {
  return JSON.parse(JSON.stringify(schema), (_key, part) => {
    if (part?.type?.[1] !== "array" || !part.properties) return part;
    const { items: _, minItems, description, ...item } = { ...part, type: "object", title: `${schema.title}Mailbox` };
    return { description, anyOf: [item, { type: "array", items: item, minItems }] };
  });
}

/** A file without imports, so that it works beside any transform with nothing installed. */
async function writeTransformTypes(): Promise<string> {
  const types = (await read("src/core/transforms/transform-types.ts"))
    .replace(/^import .*\n+/gm, "")
    .replace(/^declare /gm, "");
  const module = `${await toTypes(readSchema("action"))}\n${types}`.trim().replace(/^(?=.)/gm, "  ");
  const header = "// The types of a Hookline transform. Generated: `npx hookline types` writes it anew.";
  return `${header}\n\ndeclare module "hookline" {\n${module}\n}\n\n${await read(".ci/sandbox-globals.d.ts")}`;
}

function toTypes(schema: JSONSchema, isOpen = false): Promise<string> {
  return compile(withoutLists(schema), "Schema", {
    bannerComment: "",
    additionalProperties: isOpen,
    cwd: path.join(root, "schemas"),
    style: { printWidth: 110 },
  });
}

function read(file: string): Promise<string> {
  return readFile(path.join(root, file), "utf8");
}

/** All presets on one page as Markdown: what each does, and the message of one of its samples. */
function writePresetIndex(): string {
  const sections = findPresets().flatMap((name) => {
    const file = readPreset(name);
    const [, , message = ""] = writeExample(file);
    return [`## [${name}](${name}.md)`, file.preset.description, message];
  });
  return `${["# Presets", "What each preset does, and the message of one of its samples.", ...sections].join("\n\n")}\n`;
}
