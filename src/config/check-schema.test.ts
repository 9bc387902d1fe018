import { describe, expect, test } from "vitest";
import { isObject } from "../shared/json.ts";
import { checkSchema } from "./check-schema.ts";
import { readSchema } from "./schema/validator.ts";

const sentences = (value: unknown): string[] =>
  checkSchema(value).problems.map(({ key, message }) => `${key}: ${message}`);

describe("problems", () => {
  test("a whole configuration has none", () => {
    const config = {
      $schema: "./schemas/config.json",
      hooks: {
        presets: ["mail", { use: "github", with: { any: 1 } }],
        mappings: [{ match: { where: { type: "object" } } }],
      },
      agents: { defaults: { models: ["a/b", { id: "c/d", alias: "e" }] } },
    };
    expect(checkSchema(config)).toEqual({ valid: config, problems: [] });
  });

  test.each([
    [{ hook: {} }, 'hook: unknown key "hook"; did you mean "hooks"?'],
    [{ hooks: { tokne: "x" } }, 'hooks.tokne: unknown key "tokne"; did you mean "token"?'],
    [{ hooks: { mappings: [{ macth: {} }] } }, 'hooks.mappings[0].macth: unknown key "macth"; did you mean "match"?'],
    [
      { agents: { providers: { a: { kind: "openai", apikey: "s3cret" } } } },
      'agents.providers.a.apikey: unknown key "apikey"; did you mean "apiKey"?',
    ],
    [
      { hooks: { presets: [{ use: "x", wiht: {} }] } },
      'hooks.presets[0].wiht: unknown key "wiht"; did you mean "with"?',
    ],
    [{ store: { entirelyElse: 1 } }, 'store.entirelyElse: unknown key "entirelyElse"; known here: path, retention'],
  ])("unknown keys anywhere: %j", (value, sentence) => {
    expect(sentences(value)).toEqual([sentence]);
  });

  test.each([
    [{ hooks: { enabled: "true" } }, "hooks.enabled: must be a boolean, not a string"],
    [{ gateway: { port: "8080" } }, "gateway.port: must be a whole number, not a string"],
    [{ gateway: { port: 70_000 } }, "gateway.port: must be <= 65535"],
    [{ hooks: [] }, "hooks: must be an object, not an array"],
    [{ hooks: { presets: [1] } }, "hooks.presets[0]: must be a string or an object, not a number"],
    [{ hooks: { mappings: [{ action: "wakeup" }] } }, 'hooks.mappings[0].action: must be one of "wake", "agent"'],
    [{ hooks: { mappings: [{ transform: {} }] } }, "hooks.mappings[0].transform.module: is required"],
    [{ channels: { slack: { token: " " } } }, "channels.slack.token: must not be blank"],
    [{ channels: { mattermost: { token: "x" } } }, "channels.mattermost.baseUrl: is required"],
    [
      { hooks: { dedupeWindow: "1 day" } },
      "hooks.dedupeWindow: must match ^[1-9]\\d*(ms|s|m|h|d)$ (A number and its unit: 500ms, 30s, 30m, 24h, 7d)",
    ],
    [
      { hooks: { redact: ["user.password"] } },
      "hooks.redact[0]: must match ^\\$(\\.[^.*\\[\\]]+|\\.\\*|\\[(\\d+|\\*)\\])+$ (A place in a payload: $.user.password, $.items[*].token)",
    ],
    [
      { hooks: { mail: { filter: { senders: ["example.com"] } } } },
      "hooks.mail.filter.senders[0]: must match ^[^\\s@]*@[^\\s@]+$ (An address, ann@example.com, or a domain, @example.com)",
    ],
    [{ hooks: { mail: { filter: { labels: [""] } } } }, "hooks.mail.filter.labels[0]: must not be empty"],
    [{ hooks: { mail: { filter: { labels: [] } } } }, "hooks.mail.filter.labels: must not be empty"],
  ])("wrong values: %j", (value, sentence) => {
    expect(sentences(value)).toEqual([sentence]);
  });

  test.each([null, [], "text"])("the configuration itself must be an object, not %j", (value) => {
    expect(checkSchema(value)).toMatchObject({
      valid: {},
      problems: [{ message: expect.stringMatching(/^The configuration must be an object/) }],
    });
  });
});

test.each(["config", "mapping", "preset", "wake", "agent", "action"] as const)(
  "each pattern of the schema %s stands beside words that say what it wants",
  (name) => {
    const silent: unknown[] = [];
    JSON.parse(JSON.stringify(readSchema(name)), (_key, part: unknown) => {
      const { pattern, description } = isObject(part) ? part : {};
      if (typeof pattern === "string" && pattern !== "\\S" && description === undefined) silent.push(pattern);
      return part;
    });
    expect(silent).toEqual([]);
  },
);

describe("what is valid beside the problems", () => {
  test("only what has a problem is left out", () => {
    const value = {
      extra: 1,
      gateway: { port: "x", host: "::1" },
      hooks: { mappings: [{ deliver: "no", channel: "slack" }, { transform: { timeoutMs: 5 } }] },
    };
    expect(checkSchema(value).valid).toEqual({
      gateway: { host: "::1" },
      hooks: { mappings: [{ channel: "slack" }, {}] },
    });
  });

  test("an element that goes takes its array", () => {
    expect(checkSchema({ hooks: { presets: ["mail", 5], path: "/x" } }).valid).toEqual({
      hooks: { path: "/x" },
    });
  });

  test("what was required goes with what it was required in", () => {
    expect(checkSchema({ agents: { providers: { a: { kind: "x" }, b: { kind: "openai" } } } }).valid).toEqual({
      agents: { providers: { b: { kind: "openai" } } },
    });
  });
});
