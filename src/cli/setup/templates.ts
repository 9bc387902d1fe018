import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { type Change, editConfig } from "../../service/authoring/edit-config.ts";
import { isYaml, parseSource } from "../../core/config/parse/source.ts";
import { PACKAGE_ROOT } from "../../core/shared/system/package.ts";

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
