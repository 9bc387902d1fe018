import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { type Change, editConfig } from "../edit/edit-config.ts";
import { isYaml, parseSource } from "../../core/config/parse/source.ts";
import { replaceFile } from "../../core/shared/system/files.ts";
import { PACKAGE_ROOT } from "../../core/shared/system/package.ts";
import { type Shape, toDeclaration } from "../reading/shape.ts";

const TRANSFORMS = path.join(PACKAGE_ROOT, "transforms");

/** With these two files an editor completes a transform with nothing installed. */
const TYPES = "hookline.d.ts";
const COMPILER_OPTIONS = "tsconfig.json";

/**
 * Writes what an editor needs into the folder of the transforms: types, which belong to this version and are needed without the package, and compiler options,
 * which belong to the user if they exist. Gives the absolute paths of the files that were written and of those that were not.
 */
export function writeEditorFiles(folder: string, usesPresets = false): { written: string[]; kept: string[] } {
  const written: string[] = [];
  const kept: string[] = [];
  // The file would hide the types of a package that is installed.
  const isInstalled = isPackageInstalled(folder);
  const toOptions = (file: string, before: string | undefined, template: string): string => {
    if (isInstalled) return before ?? addGlobals(file, template);
    return usesPresets ? mapPresetTypes(file, before ?? template) : (before ?? template);
  };
  for (const name of isInstalled ? [COMPILER_OPTIONS] : [TYPES, COMPILER_OPTIONS]) {
    const file = path.join(folder, name);
    const before = existsSync(file) ? readFileSync(file, "utf8") : undefined;
    const template = readFileSync(path.join(TRANSFORMS, name), "utf8");
    const text = name === COMPILER_OPTIONS ? toOptions(file, before, template) : template;
    (before === text ? kept : written).push(file);
    if (before !== text) replaceFile(file, text);
  }
  return { written, kept };
}

/** The compiler options with the globals of the sandbox, which are in no file beside the transforms then. */
function addGlobals(file: string, text: string): string {
  return editConfig(file, text, [{ kind: "set", path: ["compilerOptions", "types"], value: ["hookline/globals"] }]);
}

/** The compiler options with the place of the types of this installation, which is not in a `node_modules` above. */
function mapPresetTypes(file: string, text: string): string {
  const types = path.join(PACKAGE_ROOT, "presets/index.d.ts");
  return editConfig(file, text, [
    { kind: "set", path: ["compilerOptions", "paths", "hookline/presets"], value: [types] },
  ]);
}

/** VS Code reads JSON5 as JSON with comments with a setting, and YAML with an extension. Files that exist stay as they are. */
export function writeVscode(folder: string, schema: string): { written: string[]; kept: string[] } {
  const fileMatch = ["json5", "jsonc", "json"].map((extension) => `/webhooks.${extension}`);
  const settings = { "files.associations": { "*.json5": "jsonc" }, "json.schemas": [{ fileMatch, url: schema }] };
  const written: string[] = [];
  const kept: string[] = [];
  for (const [name, value] of Object.entries({ settings, extensions: { recommendations: ["redhat.vscode-yaml"] } })) {
    const file = path.join(folder, `.vscode/${name}.json`);
    (existsSync(file) ? kept : written).push(file);
    if (!existsSync(file)) replaceFile(file, `${JSON.stringify(value, undefined, 2)}\n`);
  }
  return { written, kept };
}

function isPackageInstalled(folder: string): boolean {
  if (existsSync(path.join(folder, "node_modules/hookline/package.json"))) return true;
  return path.dirname(folder) !== folder && isPackageInstalled(path.dirname(folder));
}

/** The template's own name, in the names of its files and in its samples. */
const TEMPLATE = "template/status";

/**
 * A new transform without a payload to start from: a useful module, two payloads and what they lead to. By the names of files
 * below the folder of the transforms.
 */
export function readTemplate(name: string): Record<string, string> {
  const files = globSync(`${TEMPLATE}{.ts,.samples/*}`, { cwd: TRANSFORMS }).toSorted();
  const rename = (text: string): string => text.replaceAll(TEMPLATE, name);
  return Object.fromEntries(
    files.map((file) => [rename(file), rename(readFileSync(path.join(TRANSFORMS, file), "utf8"))]),
  );
}

/** A new transform for payloads of a shape. `base`: the field of the action that it starts from. */
export function writeModule(name: string, shape: Shape, base: "message" | "text" | undefined): string {
  const declaration = declarePayload(shape);
  if (!base) {
    return toSource(declaration, "Payload", "{ payload }", [
      "// Return null to skip a request: it is answered with 204.",
      `return { message: \`${name}: \${JSON.stringify(payload, undefined, 2)}\` };`,
    ]);
  }
  const log = 'console.log("fields", Object.keys(payload).join(", ")); // Shown with the event.';
  return toSource(declaration, "Payload", "{ payload, base }", [
    "// `base` is the action without this transform. Return undefined to keep it, null to skip the request.",
    ...(shape.objects > 0 ? [log] : []),
    `return { ${base}: base.${base} };`,
  ]);
}

/**
 * A new transform for an event of a preset, or for all. `payload`: the name that its type has in `hookline/presets`, or what its
 * samples hold. `base`: the field of its action.
 */
export function writePresetModule(
  payload: string | Shape,
  event: string | undefined,
  base: "message" | "text",
): string {
  const isNamed = typeof payload === "string";
  const head = isNamed ? [`import type { ${payload} } from "hookline/presets";`] : declarePayload(payload);
  const others = [
    "// Other events keep the preset's action.",
    `if (event !== ${JSON.stringify(event)}) return undefined;`,
  ];
  return toSource(head, isNamed ? payload : "Payload", "{ event, payload, base }", [
    ...(event === undefined ? [] : [...others, ""]),
    "// `base` is the preset's action. Return undefined to keep it, null to skip the request.",
    'console.log("fields", event, Object.keys(payload).join(", ")); // Shown with the event.',
    `return { ${base}: base.${base} };`,
  ]);
}

function declarePayload(shape: Shape): string[] {
  return [
    "",
    "/** What the samples hold. The body comes from outside: any field may be missing. */",
    toDeclaration("Payload", shape),
  ];
}

function toSource(head: string[], type: string, input: string, body: string[]): string {
  const lines = [
    'import type { Transform, TransformResult } from "hookline";',
    ...head,
    "",
    `const transform: Transform<${type}> = (${input}): TransformResult => {`,
    ...body.map((line) => line && `  ${line}`),
    "};",
    "export default transform;",
    "",
  ];
  return lines.join("\n");
}

/** The hook of a first configuration without presets; its transform is the template's. */
export const EXAMPLE = "status";

/** The first configuration of a project in the format of its name, with comments unless that is JSON. `changes` fill in its tokens. */
export function writeFirstConfig(file: string, changes: readonly Change[], contents: Contents): string {
  const template = isYaml(file) ? writeYaml(contents) : writeJsonWithComments(contents);
  const isPlain = path.extname(file).toLowerCase() === ".json";
  const text = isPlain ? JSON.stringify(parseSource(file, template).value, undefined, 2) : template;
  return editConfig(file, `${text.trimEnd()}\n`, changes);
}

interface Contents {
  hasExample: boolean;
  /** Where an editor finds the schema: relative to the configuration, or a URL. */
  schema: string;
  /** How the person calls this program. */
  command: string;
}

/** Writes for VS Code, which knows no JSON5: quoted keys, no comma after the last one. */
function writeJsonWithComments({ hasExample, schema, command }: Contents): string {
  const example = `
      {
        "id": "${EXAMPLE}",
        "match": { "path": "${EXAMPLE}" }, // POST /hooks/${EXAMPLE}
        "transform": { "module": "${EXAMPLE}.ts" }, // save the file, and the next request runs the new code
        "instructions": "Find the likely cause and say what to do." // your words to the agent, outside the safety boundary
      }`;
  const noMapping = `
      // { "match": { "path": "deploys" }, "messageTemplate": "{{service}} {{version}} failed: {{log.tail}}" }`;
  return `// \`${command} dev\` serves this configuration, and reloads it at every save. \`${command} check\` explains what is wrong.
{
  "$schema": ${JSON.stringify(schema)}, // for completion in an editor
  "gateway": {
    "port": 18790,
    // "host": "0.0.0.0", // to be reached from other machines, behind a proxy with TLS
    // "publicUrl": "https://hooks.example.com", // the address that senders know
    "auth": {
      "token": "" // for you: it opens /api and the commands that read what was received
    }
  },
  "hooks": {
    "enabled": true,
    "token": "", // for senders: "Authorization: Bearer …"; those that sign need none
    // Senders that need no mapping: \`${command} presets list\`, \`${command} presets enable <name>\`.
    "presets": [],
    // Hooks of your own, tried in order: the first that matches decides. "auth" names a sender's signature scheme.
    "mappings": [${hasExample ? example : noMapping}
    ]
  },
  "agents": {
    // The models. Without one, the built-in agent repeats its prompt.
    "providers": {
      // "openai": { "kind": "openai", "apiKey": "\${OPENAI_API_KEY}" }
    },
    "defaults": {
      // "model": "openai/gpt-5.2"
    }
  },
  "channels": {
    // Where replies go. A mapping then sets "channel" and "to".
    // "slack": { "token": "\${SLACK_TOKEN}" }
  }
}
`;
}

function writeYaml({ hasExample, schema, command }: Contents): string {
  const example = `
    - id: ${EXAMPLE}
      match: { path: ${EXAMPLE} } # POST /hooks/${EXAMPLE}
      transform: { module: ${EXAMPLE}.ts } # save the file, and the next request runs the new code
      instructions: Find the likely cause and say what to do. # your words to the agent, outside the safety boundary`;
  const noMapping = `
    # - match: { path: deploys }
    #   messageTemplate: "{{service}} {{version}} failed: {{log.tail}}"`;
  return `# yaml-language-server: $schema=${schema}
# \`${command} dev\` serves this configuration, and reloads it at every save. \`${command} check\` explains what is wrong.
gateway:
  port: 18790
  # host: 0.0.0.0 # to be reached from other machines, behind a proxy with TLS
  # publicUrl: https://hooks.example.com # the address that senders know
  auth:
    token: "" # for you: it opens /api and the commands that read what was received

hooks:
  enabled: true
  token: "" # for senders: "Authorization: Bearer …"; those that sign need none
  # Senders that need no mapping: \`${command} presets list\`, \`${command} presets enable <name>\`.
  presets: []
  # Hooks of your own, tried in order: the first that matches decides. "auth" names a sender's signature scheme.
  mappings:${hasExample ? example : noMapping}

agents:
  # The models. Without one, the built-in agent repeats its prompt. Below "providers", for example:
  #   openai: { kind: openai, apiKey: "\${OPENAI_API_KEY}" }
  providers:
  defaults:
    # model: openai/gpt-5.2

channels:
  # Where replies go. A mapping then sets "channel" and "to".
  # slack: { token: "\${SLACK_TOKEN}" }
`;
}
