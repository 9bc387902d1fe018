import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { type Change, editConfig } from "../../config/edit/edit-config.ts";
import { replaceFile } from "../../shared/files.ts";
import { PACKAGE_ROOT } from "../../shared/package.ts";
import { type Shape, toDeclaration } from "../reading/learn.ts";

const TRANSFORMS = path.join(PACKAGE_ROOT, "transforms");

/** With these two files an editor completes a transform with nothing installed. */
const TYPES = "hookline.d.ts";
const COMPILER_OPTIONS = "tsconfig.json";

/**
 * Writes what an editor needs into the folder of the transforms: types, which belong to this version, and compiler options,
 * which belong to the user if they exist. Gives the absolute paths of the files that were written and of those that were not.
 */
export function writeEditorFiles(folder: string): { written: string[]; kept: string[] } {
  const written: string[] = [];
  const kept: string[] = [];
  for (const name of [TYPES, COMPILER_OPTIONS]) {
    const file = path.join(folder, name);
    const text = readFileSync(path.join(TRANSFORMS, name), "utf8");
    const isKept = existsSync(file) && (name === COMPILER_OPTIONS || readFileSync(file, "utf8") === text);
    (isKept ? kept : written).push(file);
    if (!isKept) replaceFile(file, text);
  }
  return { written, kept };
}

/** Files by their name below the folder of the transforms. */
type Files = Record<string, string>;

/** The template's own name, in the names of its files and in its samples. */
const TEMPLATE = "template/status";

/** A new transform without a payload to start from: a useful module, two payloads and what they lead to. */
export function readTemplate(name: string): Files {
  const files = globSync(`${TEMPLATE}{.ts,.samples/*}`, { cwd: TRANSFORMS }).toSorted();
  const rename = (text: string): string => text.replaceAll(TEMPLATE, name);
  return Object.fromEntries(
    files.map((file) => [rename(file), rename(readFileSync(path.join(TRANSFORMS, file), "utf8"))]),
  );
}

/** A new transform for payloads of a shape. `base`: the field of the action that it starts from. */
export function writeModule(name: string, shape: Shape, base: "message" | "text" | undefined): string {
  const lines = base
    ? [
        "const transform: Transform<Payload> = ({ payload, base }): TransformResult => {",
        "  // `base` is the action without this transform. Return undefined to keep it, null to skip the request.",
        ...(shape.objects > 0
          ? ['  console.log("fields", Object.keys(payload).join(", ")); // Shown with the event.']
          : []),
        `  return { ${base}: base.${base} };`,
      ]
    : [
        "const transform: Transform<Payload> = ({ payload }): TransformResult => {",
        "  // Return null to skip a request: it is answered with 204.",
        `  return { message: \`${name}: \${JSON.stringify(payload, undefined, 2)}\` };`,
      ];
  return `${[
    'import type { Transform, TransformResult } from "hookline";',
    "",
    "/** What the samples hold. The body comes from outside: any field may be missing. */",
    toDeclaration("Payload", shape),
    "",
    ...lines,
    "};",
    "export default transform;",
  ].join("\n")}\n`;
}

/** The hook of a first configuration without presets; its transform is the template's. */
export const EXAMPLE = "status";

const EXAMPLE_LINES = [
  "    mappings: [",
  "      {",
  `        id: "${EXAMPLE}",`,
  `        match: { path: "${EXAMPLE}" }, // POST /hooks/${EXAMPLE}`,
  `        transform: { module: "${EXAMPLE}.ts" }, // save the file, and the next request runs the new code`,
  '        instructions: "Find the likely cause and say what to do.", // your words to the agent, outside the safety boundary',
  "      },",
  "    ],",
];

const NO_MAPPING_LINES = [
  "    mappings: [",
  '      // { match: { path: "deploys" }, messageTemplate: "{{service}} {{version}} failed: {{log.tail}}" },',
  "    ],",
];

/** The first configuration of a project as JSON5, with comments. `changes` fill in its tokens. */
export function writeFirstConfig(
  file: string,
  { hasExample, schema, changes }: { hasExample: boolean; schema: string | undefined; changes: readonly Change[] },
): string {
  const lines = [
    "// `webhooks dev` serves this configuration, and reloads it at every save. `webhooks check` explains what is wrong.",
    "{",
    ...(schema === undefined ? [] : [`  $schema: "${schema}", // for completion in an editor`]),
    "  gateway: {",
    "    port: 18790,",
    '    // host: "0.0.0.0", // to be reached from other machines, behind a proxy with TLS',
    '    // publicUrl: "https://hooks.example.com", // the address that senders know',
    "    auth: {",
    '      token: "", // for you: it opens /api and the commands that read what was received',
    "    },",
    "  },",
    "  hooks: {",
    "    enabled: true,",
    '    token: "", // for senders: "Authorization: Bearer …"; those that sign need none',
    "    // Senders that need no mapping: `webhooks presets list`, `webhooks presets enable <name>`.",
    "    presets: [],",
    "    // Hooks of your own, tried in order: the first that matches decides. `auth` names a sender's signature scheme.",
    ...(hasExample ? EXAMPLE_LINES : NO_MAPPING_LINES),
    "  },",
    "  agents: {",
    "    // The models. Without one, the built-in agent repeats its prompt.",
    "    providers: {",
    '      // openai: { kind: "openai", apiKey: "${OPENAI_API_KEY}" },',
    "    },",
    "    defaults: {",
    '      // model: "openai/gpt-5.2",',
    "    },",
    "  },",
    "  channels: {",
    "    // Where replies go. A mapping then sets `channel` and `to`.",
    '    // slack: { token: "${SLACK_TOKEN}" },',
    "  },",
    "}",
    "",
  ];
  return editConfig(file, lines.join("\n"), changes);
}
