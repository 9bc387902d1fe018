import { describe, expect, test } from "vitest";
import { isObject } from "../../shared/json.ts";
import { findProblems } from "../../../../test/support/config.ts";
import { builtInDrivers } from "../../../service/drivers.ts";
import { assembleSchema } from "../../../../.ci/config-schema.ts";
import { readSchema } from "./validator.ts";

const sentences = async (value: unknown): Promise<string[]> => (await findProblems(value)).errors;

describe("problems", () => {
  test("a whole configuration has none", async () => {
    const config = {
      $schema: "./schemas/config.json",
      hooks: {
        presets: [{ use: "mail", with: { to: "1" } }],
        mappings: [{ messageTemplate: "x", match: { where: { type: "object" } } }],
      },
      agents: { defaults: { models: ["a/b", { id: "c/d", alias: "e" }] } },
    };
    expect(await sentences(config)).toEqual([]);
  });

  test.each([
    [{ hook: {} }, 'hook: The key "hook" is unknown; did you mean "hooks"?'],
    [{ hooks: { tokne: "x" } }, 'hooks.tokne: The key "tokne" is unknown; did you mean "token"?'],
    [
      { hooks: { mappings: [{ macth: {}, messageTemplate: "x" }] } },
      'hooks.mappings[0].macth: The key "macth" is unknown; did you mean "match"?',
    ],
    [
      { agents: { providers: { a: { kind: "openai", apikey: "s3cret" } } } },
      'agents.providers.a.apikey: The key "apikey" is unknown; did you mean "apiKey"?',
    ],
    [
      { hooks: { presets: [{ use: "mail", wiht: {} }] } },
      'hooks.presets[0].wiht: The key "wiht" is unknown; did you mean "with"?',
    ],
    [
      { hooks: { mappings: [{ messageTemplate: "x", rateLimit: { max: 1, perMs: 250 } }] } },
      'hooks.mappings[0].rateLimit.perMs: The key "perMs" is unknown; write rateLimit.per now, a number with its unit: per: "250ms".',
    ],
    [
      { hooks: { mappings: [{ transform: { module: "x.ts", sessionKeys: "trusted" } }] } },
      'hooks.mappings[0].transform.sessionKeys: The key "sessionKeys" is unknown; write sessionPrefix now, beside transform: the session keys that the transform returns are yours then.',
    ],
    [
      { store: { entirelyElse: 1 } },
      'store.entirelyElse: The key "entirelyElse" is unknown; known here: path, url, leaseUrl, password, maxConnections, commitTimeout, upgrade, retention.',
    ],
  ])("unknown keys anywhere: %j", async (value, sentence) => {
    expect(await sentences(value)).toEqual([sentence]);
  });

  test.each([
    [{ hooks: { enabled: "true" } }, "hooks.enabled: This value must be a boolean, not a string."],
    [{ gateway: { port: "8080" } }, "gateway.port: This value must be a whole number, not a string."],
    [{ gateway: { port: 70_000 } }, "gateway.port: This value must be at most 65535."],
    [{ hooks: [] }, "hooks: This value must be an object, not an array."],
    [{ hooks: { presets: [1] } }, "hooks.presets[0]: This value must be a string or an object, not a number."],
    [
      { hooks: { mappings: [{ action: "wakeup" }] } },
      'hooks.mappings[0].action: This value must be one of "wake", "agent", "none".',
    ],
    [{ hooks: { mappings: [{ transform: {} }] } }, "hooks.mappings[0].transform.module: This value is required."],
    [
      { agents: { providers: { a: { kind: "opnai" } } } },
      'agents.providers.a.kind: This value must be one of "echo", "openai-compatible", "openai", "anthropic", "gateway", "command", "acp".',
    ],
    [
      { agents: { providers: { a: {} } } },
      'agents.providers.a.kind: This value must be one of "echo", "openai-compatible", "openai", "anthropic", "gateway", "command", "acp".',
    ],
    [{ agents: { providers: { a: "openai" } } }, "agents.providers.a: This value must be an object, not a string."],
    [{ agents: { providers: { a: { kind: "gateway" } } } }, "agents.providers.a.baseUrl: This value is required."],
    [
      { agents: { providers: { a: { kind: "gateway", baseUrl: "x" } } } },
      "agents.providers.a.baseUrl: This value must begin with http:// or https://.",
    ],
    [
      { agents: { providers: { a: { kind: "openai", command: ["x"] } } } },
      'agents.providers.a.command: The key "command" is unknown; known here: kind, baseUrl, apiKey, headers.',
    ],
    [
      { hooks: { mappings: [{ auth: { scheme: "githb", secret: "s" } }] } },
      'hooks.mappings[0].auth.scheme: This value is unknown; did you mean "github"?',
    ],
    [
      { hooks: { mappings: [{ auth: { scheme: "hmac", secret: "s", header: "x-s", signed: ["id", "."] } }] } },
      'hooks.mappings[0].auth.signed: This value must contain "body".',
    ],
    [
      { hooks: { mail: { source: { kind: "pop3" } } } },
      'hooks.mail.source.kind: This value must be one of "imap", "gmail".',
    ],
    [
      { channels: { matrix: {} } },
      `channels.matrix: The key "matrix" is unknown; known here: ${Object.keys(builtInDrivers.channels).join(", ")}.`,
    ],
    [{ channels: { slack: { token: " " } } }, "channels.slack.token: This value must not be blank."],
    [{ channels: { mattermost: { token: "x" } } }, "channels.mattermost.baseUrl: This value is required."],
    [
      { hooks: { dedupeWindow: "1 day" } },
      "hooks.dedupeWindow: This value must be a number and its unit, such as 500ms, 30s, 5m, 24h or 7d.",
    ],
    [
      { gateway: { publicUrl: "hooks.example.com" } },
      "gateway.publicUrl: This value must be an address such as https://hooks.example.com, without ? and #.",
    ],
    [
      { hooks: { mappings: [{ auth: { scheme: "stripe", secret: "s", tolerance: "5 minutes" } }] } },
      "hooks.mappings[0].auth.tolerance: This value must be a number and its unit, such as 500ms, 30s, 5m, 24h or 7d.",
    ],
    [
      { hooks: { redact: ["user.password"] } },
      "hooks.redact[0]: This value does not have the expected form (A place in a payload: $.user.password, $.items[*].token).",
    ],
    [
      { hooks: { mail: { filter: { senders: ["example.com"] } } } },
      "hooks.mail.filter.senders[0]: This value does not have the expected form (An address, ann@example.com, or a domain, @example.com).",
    ],
    ...["true", "false", "a\nb"].map((state): [object, string] => [
      { hooks: { mappings: [{ state }] } },
      "hooks.mappings[0].state: This value must be a name of up to 127 characters, without control characters, which is not true or false.",
    ]),
    [{ hooks: { mappings: [{ state: "" }] } }, "hooks.mappings[0].state: This value must not be empty."],
    [
      { hooks: { mappings: [{ state: "x".repeat(128) }] } },
      "hooks.mappings[0].state: This value must have at most 127 characters.",
    ],
    [{ hooks: { mail: { filter: { labels: [""] } } } }, "hooks.mail.filter.labels[0]: This value must not be empty."],
    [{ hooks: { mail: { filter: { labels: [] } } } }, "hooks.mail.filter.labels: This value must not be empty."],
  ])("wrong values: %j", async (value, sentence) => {
    expect(await sentences(value)).toEqual([sentence]);
  });

  test.each([null, [], "text"])("the configuration itself must be an object, not %j", async (value) => {
    expect(await sentences(value)).toEqual([expect.stringMatching(/: The configuration must be an object/)]);
  });
});

test.each([
  ["config", assembleSchema(builtInDrivers)],
  ["mapping", readSchema("mapping")],
  ["preset", readSchema("preset")],
  ["wake", readSchema("wake")],
  ["agent", readSchema("agent")],
  ["action", readSchema("action")],
])("each pattern of the schema %s has a description that says what it expects", (_, schema) => {
  const silent: unknown[] = [];
  JSON.parse(JSON.stringify(schema), (_key, part: unknown) => {
    const { pattern, description } = isObject(part) ? part : {};
    if (typeof pattern === "string" && pattern !== "\\S" && description === undefined) silent.push(pattern);
    return part;
  });
  expect(silent).toEqual([]);
});
