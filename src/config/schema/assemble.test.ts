import { channels } from "../../channels/index.ts";
import { describe, expect, test } from "vitest";
import { isObject } from "../../shared/json.ts";
import { findProblems } from "../../../test/support/config.ts";
import { builtInDrivers } from "../plugins.ts";
import { assembleSchema } from "./assemble.ts";
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
    [{ hook: {} }, 'hook: unknown key "hook"; did you mean "hooks"?'],
    [{ hooks: { tokne: "x" } }, 'hooks.tokne: unknown key "tokne"; did you mean "token"?'],
    [
      { hooks: { mappings: [{ macth: {}, messageTemplate: "x" }] } },
      'hooks.mappings[0].macth: unknown key "macth"; did you mean "match"?',
    ],
    [
      { agents: { providers: { a: { kind: "openai", apikey: "s3cret" } } } },
      'agents.providers.a.apikey: unknown key "apikey"; did you mean "apiKey"?',
    ],
    [
      { hooks: { presets: [{ use: "mail", wiht: {} }] } },
      'hooks.presets[0].wiht: unknown key "wiht"; did you mean "with"?',
    ],
    [
      { store: { entirelyElse: 1 } },
      'store.entirelyElse: unknown key "entirelyElse"; known here: path, url, password, maxConnections, commitTimeout, retention',
    ],
  ])("unknown keys anywhere: %j", async (value, sentence) => {
    expect(await sentences(value)).toEqual([sentence]);
  });

  test.each([
    [{ hooks: { enabled: "true" } }, "hooks.enabled: must be a boolean, not a string"],
    [{ gateway: { port: "8080" } }, "gateway.port: must be a whole number, not a string"],
    [{ gateway: { port: 70_000 } }, "gateway.port: must be at most 65535"],
    [{ hooks: [] }, "hooks: must be an object, not an array"],
    [{ hooks: { presets: [1] } }, "hooks.presets[0]: must be a string or an object, not a number"],
    [{ hooks: { mappings: [{ action: "wakeup" }] } }, 'hooks.mappings[0].action: must be one of "wake", "agent"'],
    [{ hooks: { mappings: [{ transform: {} }] } }, "hooks.mappings[0].transform.module: is required"],
    [
      { agents: { providers: { a: { kind: "opnai" } } } },
      'agents.providers.a.kind: must be one of "echo", "openai-compatible", "openai", "anthropic", "gateway", "command", "acp"',
    ],
    [
      { agents: { providers: { a: {} } } },
      'agents.providers.a.kind: must be one of "echo", "openai-compatible", "openai", "anthropic", "gateway", "command", "acp"',
    ],
    [{ agents: { providers: { a: "openai" } } }, "agents.providers.a: must be an object, not a string"],
    [{ agents: { providers: { a: { kind: "gateway" } } } }, "agents.providers.a.baseUrl: is required"],
    [
      { agents: { providers: { a: { kind: "gateway", baseUrl: "x" } } } },
      "agents.providers.a.baseUrl: must begin with http:// or https://",
    ],
    [
      { agents: { providers: { a: { kind: "openai", command: ["x"] } } } },
      'agents.providers.a.command: unknown key "command"; known here: kind, baseUrl, apiKey, headers',
    ],
    [
      { hooks: { mappings: [{ auth: { scheme: "githb", secret: "s" } }] } },
      'hooks.mappings[0].auth.scheme: is unknown; did you mean "github"?',
    ],
    [
      { hooks: { mappings: [{ auth: { scheme: "hmac", secret: "s", header: "x-s", signed: ["id", "."] } }] } },
      'hooks.mappings[0].auth.signed: must contain "body"',
    ],
    [{ hooks: { mail: { source: { kind: "pop3" } } } }, 'hooks.mail.source.kind: must be one of "imap", "gmail"'],
    [
      { channels: { matrix: {} } },
      `channels.matrix: unknown key "matrix"; known here: ${Object.keys(channels).join(", ")}`,
    ],
    [{ channels: { slack: { token: " " } } }, "channels.slack.token: must not be blank"],
    [{ channels: { mattermost: { token: "x" } } }, "channels.mattermost.baseUrl: is required"],
    [
      { hooks: { dedupeWindow: "1 day" } },
      "hooks.dedupeWindow: must be a number and its unit, such as 500ms, 30s, 5m, 24h or 7d",
    ],
    [
      { gateway: { publicUrl: "hooks.example.com" } },
      "gateway.publicUrl: must be an address such as https://hooks.example.com, without ? and #",
    ],
    [
      { hooks: { mappings: [{ auth: { scheme: "stripe", secret: "s", tolerance: "5 minutes" } }] } },
      "hooks.mappings[0].auth.tolerance: must be a number and its unit, such as 500ms, 30s, 5m, 24h or 7d",
    ],
    [
      { hooks: { redact: ["user.password"] } },
      "hooks.redact[0]: does not have the expected form (A place in a payload: $.user.password, $.items[*].token)",
    ],
    [
      { hooks: { mail: { filter: { senders: ["example.com"] } } } },
      "hooks.mail.filter.senders[0]: does not have the expected form (An address, ann@example.com, or a domain, @example.com)",
    ],
    [{ hooks: { mail: { filter: { labels: [""] } } } }, "hooks.mail.filter.labels[0]: must not be empty"],
    [{ hooks: { mail: { filter: { labels: [] } } } }, "hooks.mail.filter.labels: must not be empty"],
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
