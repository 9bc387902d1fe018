import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { type Change, editConfig } from "../../service/authoring/edit-config.ts";
import { isYaml, parseSource } from "../../core/config/parse/source.ts";
import { PACKAGE_ROOT } from "../../core/shared/system/package.ts";
import { type Shape, toDeclaration } from "../../service/authoring/shape.ts";

export const TRANSFORMS = path.join(PACKAGE_ROOT, "transforms");

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
    return toSource(declaration, "{ payload }", [
      "// Return null to skip a request: it is answered with 204.",
      `return { message: \`${name}: \${JSON.stringify(payload, undefined, 2)}\` };`,
    ]);
  }
  const log = 'console.log("fields", Object.keys(payload).join(", ")); // Shown with the event.';
  return toSource(declaration, "{ payload, base }", [
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
  const head = typeof payload === "string" ? importPayload(payload) : declarePayload(payload);
  const others = [
    "// Other events keep the preset's action.",
    `if (event !== ${JSON.stringify(event)}) return undefined;`,
  ];
  return toSource(head, "{ event, payload, base }", [
    ...(event === undefined ? [] : [...others, ""]),
    "// `base` is the preset's action. Return undefined to keep it, null to skip the request.",
    'console.log("fields", event, Object.keys(payload).join(", ")); // Shown with the event.',
    `return { ${base}: base.${base} };`,
  ]);
}

function importPayload(name: string): string[] {
  return [
    `import type { ${name} } from "hookline/presets";`,
    "",
    "/** What the preset's samples have. The body comes from outside; without `Known`, further fields are `unknown`. */",
    `export type Payload = Known<${name}>;`,
  ];
}

function declarePayload(shape: Shape): string[] {
  return [
    "",
    "/** What the samples hold. The body comes from outside: any field may be missing. */",
    `export ${toDeclaration("Payload", shape)}`,
  ];
}

function toSource(head: string[], input: string, body: string[]): string {
  const known = head.some((line) => line.includes("Known<")) ? "Known, " : "";
  const lines = [
    `import type { ${known}Transform, TransformResult } from "hookline";`,
    ...head,
    "",
    `const transform: Transform<Payload> = (${input}): TransformResult => {`,
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
