import { type Change, editConfig } from "../../config/edit/edit-config.ts";

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
