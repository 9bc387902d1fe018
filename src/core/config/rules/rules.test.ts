import { describe, expect, test } from "vitest";
import { findProblems } from "../../../../test/support/config.ts";
import { builtInDrivers } from "../../../service/drivers.ts";
import type { MappingInput, UserConfig } from "../schema/generated.ts";

const TOKEN = "a-hook-token-of-good-length";

const errors = async (config: UserConfig): Promise<string[]> => (await findProblems(config)).errors;
const GATEWAY = { auth: { token: "the-token-of-the-gateway" } };
const withMapping = (...mappings: MappingInput[]): UserConfig => ({
  gateway: GATEWAY,
  hooks: { enabled: true, token: TOKEN, mappings },
});
const agentMapping = (more: MappingInput): UserConfig => withMapping({ messageTemplate: "x", ...more });

test("a state needs a transform, and an id that it belongs to", async () => {
  const place = "hooks.mappings[0].state";
  expect(await errors(withMapping({ id: "m", messageTemplate: "x", state: true }))).toEqual([
    `${place}: Only a transform has a state. Add transform, or remove this setting.`,
  ]);
  const transform = { module: "count.ts" };
  const warning = `${place}: The state belongs to the mapping's id, which is its place in the list. Add id, so that it can move.`;
  expect((await findProblems(withMapping({ state: true, transform }))).warnings).toContain(warning);
  expect((await findProblems(withMapping({ id: "m", state: true, transform }))).warnings).not.toContain(warning);
  expect((await findProblems(withMapping({ state: "house", transform }))).warnings).not.toContain(warning);
  expect(await errors(withMapping({ state: "x".repeat(127), transform }))).toEqual([]);
});

test.each<[MappingInput, string, string]>([
  [
    { schedule: { cron: "61 * * * *" } },
    "schedule.cron",
    "This cron expression cannot be used (Invalid value for minute: 61).",
  ],
  [
    { schedule: { cron: "0 0 31 2 *" } },
    "schedule.cron",
    "No date fits this cron expression, so its time never comes.",
  ],
  [{ schedule: { cron: "@daily", timezone: "Mars" } }, "schedule.timezone", 'There is no time zone "Mars".'],
  [{ schedule: { every: "1m", timezone: "UTC" } }, "schedule.timezone", "Only cron has a time zone"],
  [{ schedule: { cron: "@daily", every: "1h" } }, "schedule.every", "cron says when."],
  [{ schedule: {} }, "schedule", "It needs cron"],
  ...["59s", "25h", "500ms", "2d"].map((every): [MappingInput, string, string] => [
    { schedule: { every } },
    "schedule.every",
    "The period must be from 1m to 24h.",
  ]),
  [{ id: "a//b", schedule: { every: "24h" } }, "id", "No request has this path"],
  [{ id: "/a", schedule: { every: "24h" } }, "id", "The hook schedule//a cannot be named."],
  ...(
    [
      { match: { path: "schedule/m" } },
      { match: {} },
      { auth: { scheme: "stripe", secret: "s" } },
      { dedupe: "{{at}}" },
      { mail: "ses" },
      { answer: { wait: 5, template: "x" } },
      { echo: "{{at}}" },
      { place: "acme" },
      { from: { is: "anyone" } },
    ] satisfies MappingInput[]
  ).map((beside): [MappingInput, string, string] => [
    { schedule: { cron: "0 7 * * 1-5" }, ...beside },
    Object.keys(beside)[0]!,
    "The schedule starts this mapping, and no request does. Remove this setting, or schedule.",
  ]),
])("%j is no schedule", async (mapping, key, message) => {
  expect(await errors(agentMapping({ id: "m", ...mapping }))).toContainEqual(
    expect.stringContaining(`hooks.mappings[0].${key}: ${message}`),
  );
});

test("a schedule has an id, and hooks below schedule/ are for no other mapping", async () => {
  const every = { schedule: { every: "1m" } };
  expect(await errors(agentMapping({ id: "daily/digest", ...every }))).toEqual([]);
  expect(await errors(agentMapping(every))).toEqual([
    "hooks.mappings[0]: A schedule needs the mapping's id, which names its hook: schedule/<id>. Add one.",
  ]);
  const message = "The hooks below schedule/ are those of mappings with a schedule. Choose another path.";
  expect(await errors(agentMapping({ match: { path: "/schedule/x" } }))).toEqual([
    `hooks.mappings[0].match.path: ${message}`,
  ]);
  expect(await errors(agentMapping({ match: { path: "schedule" } }))).toEqual([]);
  const preset = { use: "generic", with: { path: "schedule/x" } };
  expect(await errors({ hooks: { enabled: true, token: TOKEN, presets: [preset] } })).toEqual([
    `hooks.presets[0].with.path: ${message}`,
  ]);
});

test("heartbeats are every so often, or by cron", async () => {
  const withTimes = (heartbeat: object): Promise<string[]> => errors({ agents: { defaults: { heartbeat } } });
  const key = "agents.defaults.heartbeat";
  expect(await withTimes({ cron: "0 8 * * *", timezone: "Europe/Berlin" })).toEqual([]);
  expect(await withTimes({ cron: "0 8 * * *", every: "1h" })).toEqual([
    `${key}.every: cron says when. Set either cron or every, not both.`,
  ]);
  expect(await withTimes({ timezone: "Europe/Berlin" })).toEqual([
    `${key}.timezone: Only cron has a time zone: every counts in UTC. Remove this setting.`,
  ]);
  expect(await withTimes({ cron: "0 8 * *" })).toEqual([expect.stringContaining(`${key}.cron: This is not a cron`)]);
});

test("an empty configuration is good", async () => {
  expect(await findProblems({})).toEqual({ errors: [], warnings: [] });
});

test("hooks that are described but off are warned of", async () => {
  const warning = "hooks.enabled: Hooks are off, so every hook answers 404. Set hooks.enabled to true.";
  expect((await findProblems({ hooks: { mappings: [{ messageTemplate: "x" }] } })).warnings).toEqual([warning]);
  expect((await findProblems({ hooks: { enabled: false, presets: ["mail"] } })).warnings).toEqual([warning]);
  expect((await findProblems({ hooks: { token: TOKEN } })).warnings).toEqual([warning]);
});

test("hooks without a token for the operator are warned of", async () => {
  const hooks = { enabled: true, token: TOKEN };
  const warning =
    "gateway.auth.token: The gateway token is not set, so /api and the operator's commands are off. Set a long random secret.";
  expect((await findProblems({ hooks })).warnings).toEqual([warning]);
  expect((await findProblems({ gateway: GATEWAY, hooks })).warnings).toEqual([]);
});

describe("hooks.token", () => {
  test.each([undefined, "", "  "])("is required while hooks are on: %j", async (token) => {
    expect(await errors({ hooks: { enabled: true, token } })).toEqual([
      "hooks.token: A hook token is required while hooks.enabled is true. Set a long random secret.",
    ]);
  });

  test("is not required while they are off", async () => {
    expect(await errors({ hooks: { enabled: false } })).toEqual([]);
  });

  test.each([true, false])("must not be the gateway's (hooks on: %s), and is not printed", async (enabled) => {
    const [error] = await errors({ gateway: { auth: { token: TOKEN } }, hooks: { enabled, token: ` ${TOKEN}\n` } });
    expect(error).toMatch(/^hooks\.token: This secret must not be the same as gateway\.auth\.token/);
    expect(error).not.toContain(TOKEN);
  });

  test("is warned of under 24 characters, and is not printed", async () => {
    const { warnings } = await findProblems({ gateway: GATEWAY, hooks: { enabled: true, token: "x".repeat(23) } });
    expect(warnings).toEqual([
      "hooks.token: This secret is shorter than 24 characters and could be guessed. Use a longer one.",
    ]);
    expect(await findProblems({ gateway: GATEWAY, hooks: { enabled: true, token: "x".repeat(24) } })).toEqual({
      errors: [],
      warnings: [],
    });
  });
});

describe("hooks.tokens", () => {
  const withTokens = (
    tokens: NonNullable<UserConfig["hooks"]>["tokens"],
    more: UserConfig["hooks"] = {},
  ): UserConfig => ({
    gateway: GATEWAY,
    hooks: { enabled: true, token: TOKEN, tokens, ...more },
  });
  const secret = "another-token-of-good-length";

  test("several secrets and several tokens are valid", async () => {
    const token = [TOKEN, "the-previous-token-of-good-length"];
    const tokens = { deploys: { secret, hooks: ["wake", "builds"] }, ci: { secret: [`${secret}-1`, `${secret}-2`] } };
    const mappings = [{ match: { path: "/builds/" }, messageTemplate: "x" }];
    expect(await findProblems(withTokens(tokens, { token, mappings }))).toEqual({ errors: [], warnings: [] });
  });

  test.each([
    ["blank", { secret: " " }, "hooks.tokens.ci.secret: The token is blank"],
    ["missing", { secret: [] }, "hooks.tokens.ci.secret: The token is blank"],
    ["blank in a list", { secret: [secret, ""] }, "hooks.tokens.ci.secret[1]: The token is blank"],
    [
      "the gateway's",
      { secret: "the-token-of-the-gateway\n" },
      "hooks.tokens.ci.secret: This secret must not be the same as gateway",
    ],
    [
      "the hook token",
      { secret: [secret, TOKEN] },
      "hooks.tokens.ci.secret[1]: This secret is the same as hooks.token.",
    ],
    [
      "twice in a list",
      { secret: [secret, secret] },
      "hooks.tokens.ci.secret[1]: This secret is the same as hooks.tokens.ci.secret[0]",
    ],
  ])("a secret must not be %s", async (_what, ci, start) => {
    const found = await errors(withTokens({ ci }));
    expect(found).toEqual([expect.stringContaining(start)]);
    for (const hidden of [secret, TOKEN]) expect(found[0]).not.toContain(hidden);
  });

  test.each([
    ["default", "hooks.tokens.default: This is the name of hooks.token"],
    ["a b", "hooks.tokens.a b: The name of a token must consist of letters"],
  ])("the name %j is refused", async (name, start) => {
    expect(await errors(withTokens({ [name]: { secret } }))).toEqual([expect.stringContaining(start)]);
  });

  test("a short secret, and a hook that does not exist, are warned of", async () => {
    const mappings = [{ match: { path: "builds" }, messageTemplate: "x" }];
    const ci = { secret: "short", hooks: ["buidls"], sessionPrefix: "ci:" };
    const { warnings } = await findProblems(withTokens({ ci }, { mappings }));
    expect(warnings).toEqual([
      "hooks.tokens.ci.secret: This secret is shorter than 24 characters and could be guessed. Use a longer one.",
      'hooks.tokens.ci.hooks: There is no hook "buidls"; did you mean "builds"?',
      "hooks.tokens.ci.sessionPrefix: This has no effect, because its hooks do not include agent.",
    ]);
  });

  test("any hook may exist when a mapping takes requests to all", async () => {
    const mappings = [{ messageTemplate: "x" }];
    expect((await findProblems(withTokens({ ci: { secret, hooks: ["any"] } }, { mappings }))).warnings).toEqual([]);
  });
});

describe("hooks.path", () => {
  test.each(["/hooks", "hooks", "/hooks///", "/a/b-c/d_e~1.2", "/apis", "/healthz2"])("%s is good", async (path) => {
    expect(await errors({ hooks: { path } })).toEqual([]);
  });

  test.each([
    ["/", 'must not be "/"'],
    ["//", 'must not be "/"'],
    ["/a//b", "must consist of"],
    ["/a?b", "must consist of"],
    ["/a#b", "must consist of"],
    ["/a%2fb", "must consist of"],
    ["/a b", "must consist of"],
    ["/a/:b", "must consist of"],
    ["/a/../b", 'must not contain ".."'],
    ["/a..b", 'must not contain ".."'],
    ["/./a", 'or a segment "."'],
    ["/api", "must not be /api or below"],
    ["/api/hooks/", "must not be /api or below"],
    ["/healthz", "must not be /healthz or below"],
    ["/readyz/x", "must not be /readyz or below"],
    ["/metrics", "must not be /metrics or below"],
  ])("%s is refused", async (path, part) => {
    const found = await errors({ hooks: { path } });
    expect(found).toEqual([expect.stringContaining(part)]);
    expect(found[0]).toMatch(/^hooks\.path: /);
  });
});

describe("gateway.trustedProxies", () => {
  test.each(["127.0.0.1", "10.0.0.0/8", "::1", "fd00::/8", "0.0.0.0/0"])("%s is good", async (entry) => {
    expect(await errors({ gateway: { trustedProxies: [entry] } })).toEqual([]);
  });

  test.each(["localhost", "10.0.0.0/33", "10.0.0/8", "fd00::/129", "10.0.0.0/8/8", ""])(
    "%j is refused",
    async (entry) => {
      expect(await errors({ gateway: { trustedProxies: ["::1", entry] } })).toEqual([
        "gateway.trustedProxies[1]: A proxy must be an IP address or a range such as 10.0.0.0/8.",
      ]);
    },
  );
});

describe("session keys", () => {
  const prefixes = { allowedSessionKeyPrefixes: ["hook:", "ci:"] };

  test("the default one must not be the main session", async () => {
    expect(await errors({ hooks: { defaultSessionKey: "main" } })).toEqual([
      'hooks.defaultSessionKey: The session key must not be "main", because hooks run in other sessions. Choose another.',
    ]);
  });

  test("the default one obeys the prefixes", async () => {
    expect(await errors({ hooks: { defaultSessionKey: "ci:1", ...prefixes } })).toEqual([]);
    expect(await errors({ hooks: { defaultSessionKey: "other", ...prefixes } })).toEqual([
      "hooks.defaultSessionKey: The session key must start with one of hooks.allowedSessionKeyPrefixes: hook:, ci:.",
    ]);
  });

  test("a mapping's obeys them where it is no template", async () => {
    const config = (sessionKey: string): UserConfig => ({
      hooks: { ...prefixes, mappings: [{ messageTemplate: "x", sessionKey }] },
    });
    expect(await errors(config("hook:1"))).toEqual([]);
    expect(await errors(config("{{id}}"))).toEqual([]);
    expect(await errors(config("other"))).toEqual([
      "hooks.mappings[0].sessionKey: The session key must start with one of hooks.allowedSessionKeyPrefixes: hook:, ci:.",
    ]);
  });

  test.each(["ci:{{id}}", "c{{id}}", " {{id}}", "{{#if a}}x:{{else}}ci:{{/if}}", "{{#if a}}hook:{{id}}{{/if}}"])(
    "a template that may obey them is good: %s",
    async (sessionKey) => {
      const mappings = [{ messageTemplate: "x", sessionKey }];
      expect(await errors({ hooks: { ...prefixes, mappings } })).toEqual([]);
    },
  );

  test.each(["cj{{id}}", "{{#if a}}x:{{id}}{{/if}}"])(
    "a template that can never obey them is refused: %s",
    async (sessionKey) => {
      const mappings = [{ messageTemplate: "x", sessionKey }];
      expect(await errors({ hooks: { ...prefixes, mappings } })).toEqual([
        "hooks.mappings[0].sessionKey: The session key must start with one of hooks.allowedSessionKeyPrefixes: hook:, ci:.",
      ]);
    },
  );

  test("so is that of a preset, with the prefix to add", async () => {
    expect(await errors({ hooks: { presets: ["mail"], allowedSessionKeyPrefixes: ["ci:"] } })).toEqual([
      'hooks.allowedSessionKeyPrefixes: No session key of the preset "mail" has one. Add "hook:mail:".',
    ]);
  });

  test("a mapping's template is warned of where requests may not choose", async () => {
    const mappings = [{ messageTemplate: "x", sessionKey: "{{id}}" }];
    const hooks = { enabled: true, token: TOKEN, mappings };
    expect((await findProblems({ gateway: GATEWAY, hooks })).warnings).toEqual([]);
    expect(
      (await findProblems({ gateway: GATEWAY, hooks: { ...hooks, allowRequestSessionKey: false } })).warnings,
    ).toEqual([expect.stringMatching(/^hooks\.mappings\[0\]\.sessionKey: The session key is a template/)]);
  });
});

describe("channel names", () => {
  test.each(["last", "slack", "{{channel}}"])("%s is good where slack is configured", async (channel) => {
    const channels = { slack: { token: "x" } };
    expect(await errors({ channels, ...agentMapping({ channel }) })).toEqual([]);
    expect(await errors({ channels, hooks: { mail: { channel } } })).toEqual([]);
  });

  test.each(Object.keys(builtInDrivers.channels))("%s has to be configured", async (channel) => {
    const problem = `The channel "${channel}" is not configured: add a channels.${channel} block.`;
    expect(await errors(agentMapping({ channel }))).toEqual([`hooks.mappings[0].channel: ${problem}`]);
    expect(await errors({ hooks: { mail: { channel } } })).toEqual([`hooks.mail.channel: ${problem}`]);
  });

  test.each([
    ["imsg", "imessage"],
    ["teams", "msteams"],
  ])("%s means %s", async (alias, name) => {
    const channels: Record<string, object> = {
      [alias]: name === "msteams" ? { appId: "x", appPassword: "x" } : {},
    };
    for (const channel of [alias, name]) expect(await errors({ channels, ...agentMapping({ channel }) })).toEqual([]);
    const both = { ...channels, [name]: {} };
    expect(await errors({ channels: both })).toContainEqual(
      expect.stringMatching(`^channels.${alias}: The key "${alias}" is unknown`),
    );
  });

  test("another is refused, with the nearest", async () => {
    expect(await errors(agentMapping({ channel: "slakc" }))).toEqual([
      'hooks.mappings[0].channel: There is no channel "slakc"; did you mean "slack"?',
    ]);
    expect(await errors({ hooks: { mail: { channel: "Telegram" } } })).toEqual([
      'hooks.mail.channel: There is no channel "Telegram"; did you mean "telegram"?',
    ]);
  });
});

describe("mappings", () => {
  test.each<[MappingInput, string]>([
    [{}, 'The action "agent" requires messageTemplate or a transform. Set one of them.'],
    [{ messageTemplate: " " }, 'The action "agent" requires messageTemplate or a transform. Set one of them.'],
    [{ action: "wake" }, 'The action "wake" requires textTemplate or a transform. Set one of them.'],
    [
      { action: "wake", messageTemplate: "x" },
      'The action "wake" requires textTemplate or a transform. Set one of them.',
    ],
  ])("%j without what it needs is refused", async (mapping, part) => {
    expect(await errors(withMapping(mapping))).toEqual([`hooks.mappings[0]: ${part}`]);
  });

  test("a transform needs no template, and may use either", async () => {
    const transform = { module: "a.ts" };
    expect(await findProblems(withMapping({ transform }, { id: "b", transform, textTemplate: "x" }))).toEqual({
      errors: [],
      warnings: [],
    });
  });

  test("the other action's template has no effect", async () => {
    expect(
      (await findProblems(withMapping({ action: "wake", textTemplate: "x", messageTemplate: "x" }))).warnings,
    ).toEqual([
      'hooks.mappings[0].messageTemplate: This setting has no effect: the action "wake" uses textTemplate. Remove it.',
    ]);
    expect((await findProblems(agentMapping({ textTemplate: "x" }))).warnings).toEqual([
      'hooks.mappings[0].textTemplate: This setting has no effect: the action "agent" uses messageTemplate. Remove it.',
    ]);
  });

  test("what is said to an agent has no effect where none is asked", async () => {
    const settings: MappingInput = { instructions: "x", model: "x", thinking: "low", timeoutSeconds: 1 };
    expect((await findProblems(agentMapping({ agent: "none", ...settings }))).warnings).toEqual(
      Object.keys(settings).map(
        (setting) => `hooks.mappings[0].${setting}: This setting has no effect: agent "none" asks no agent. Remove it.`,
      ),
    );
  });

  test("update is only for the source", async () => {
    const message =
      'hooks.mappings[0].update: This setting is only for the channel "source". Set that channel, or remove it.';
    expect((await findProblems(agentMapping({ update: true }))).errors).toEqual([message]);
  });

  test("a thinking level that no provider knows is a problem, unless a provider may have its own", async () => {
    expect((await findProblems(agentMapping({ thinking: "hgh" }))).errors).toEqual([
      `hooks.mappings[0].thinking: "hgh" is not a thinking level; did you mean "high"?`,
    ]);
    for (const thinking of ["High", "ultra", "{{level}}"]) {
      expect((await findProblems(agentMapping({ thinking }))).errors).toEqual([]);
    }
    const agents = {
      providers: { own: { kind: "command", sandbox: false, command: ["true"] } },
      defaults: { thinking: "deep" },
    };
    expect((await findProblems({ agents })).errors).toEqual([]);
    expect((await findProblems({ agents: { defaults: { thinking: "deep" } } })).errors).toEqual([
      `agents.defaults.thinking: "deep" is not a thinking level; known here: none, minimal, low, medium, high, xhigh, max.`,
    ]);
  });

  test("what holds back runs has no effect on a wake", async () => {
    const limits: MappingInput = {
      concurrency: 1,
      rateLimit: { max: 1 },
      coalesce: { key: "x", windowMs: 1 },
      agent: "none",
    };
    const wake: MappingInput = { action: "wake", textTemplate: "x" };
    expect((await findProblems(withMapping({ ...wake, ...limits }))).warnings).toEqual(
      ["concurrency", "rateLimit", "coalesce", "agent"].map(
        (setting) => `hooks.mappings[0].${setting}: This setting has no effect on a wake. Remove it.`,
      ),
    );
    expect((await findProblems(agentMapping(limits))).warnings).toEqual([]);
    const transform = { module: "x.ts" };
    expect((await findProblems(withMapping({ ...wake, ...limits, transform }))).warnings).toEqual([]);
  });

  test.each(["wake", "/agent/"])("match.path %s is never reached", async (path) => {
    expect(await errors(agentMapping({ match: { path } }))).toEqual([
      expect.stringMatching(/^hooks\.mappings\[0\]\.match\.path: This path is never reached/),
    ]);
  });

  test.each([
    ["a//b", 'the part "" is refused'],
    ["../a", 'the part ".." is refused'],
    ["a/./b", 'the part "." is refused'],
    ["github?token=x", "it ends before ? and #"],
    ["a#b", "it ends before ? and #"],
    ["a%20b", "it is decoded before it is compared"],
  ])("match.path %s can never match", async (path, reason) => {
    expect(await errors(agentMapping({ match: { path } }))).toEqual([
      expect.stringContaining(`hooks.mappings[0].match.path: No request has this path: ${reason}`),
    ]);
    for (const right of ["a b/c", "/a/", "100%", "..a", "größe"]) {
      expect(await errors(agentMapping({ match: { path: right } }))).toEqual([]);
    }
  });

  test("body is the same in all mappings of a path", async () => {
    const text = { match: { path: "log" }, body: "text" as const, messageTemplate: "x" };
    const other = { match: { path: "/log/", source: "a" }, messageTemplate: "x" };
    const elsewhere = { match: { path: "other" }, messageTemplate: "x" };
    expect(await errors({ hooks: { mappings: [{ ...other, body: "text" }, text, elsewhere] } })).toEqual([]);
    expect(await errors({ hooks: { mappings: [elsewhere, text, other] } })).toEqual([
      'hooks.mappings[1].body: All mappings of the path "log" must have the same body. That of "mapping-2" is another.',
    ]);
    expect(await errors({ hooks: { mappings: [{ body: "text", messageTemplate: "x" }] } })).toEqual([
      expect.stringMatching(/^hooks\.mappings\[0\]\.body: This setting needs match\.path/),
    ]);
  });

  test("match.path with hooks.path in front is warned of", async () => {
    expect((await findProblems(agentMapping({ match: { path: "/hooks/a/b" } }))).warnings).toEqual([
      'hooks.mappings[0].match.path: This path means /hooks/hooks/a/b, because hooks.path is put in front. Write "a/b" for /hooks/a/b.',
    ]);
    expect((await findProblems(agentMapping({ match: { path: "hooks" } }))).warnings).toEqual([]);
  });

  test("a recipient of the sender's choice is warned of, unless the channel says which ones", async () => {
    const mapping: MappingInput = { channel: "slack", to: "{{chat}}" };
    const warnings = async (input: MappingInput, slack: object) =>
      (await findProblems({ ...agentMapping(input), channels: { slack: { token: "t", ...slack } } })).warnings;
    const expected = [
      "hooks.mappings[0].to: The recipient is a template, so the sender chooses it. List those that it may choose in channels.slack.allow.",
    ];
    expect(await warnings(mapping, {})).toEqual(expected);
    expect(await warnings({ to: "{{chat}}" }, {})).toEqual(expected);
    expect(await warnings(mapping, { allow: ["C1*"] })).toEqual([]);
    expect(await warnings({ ...mapping, to: "C1" }, {})).toEqual([]);
    expect(await warnings({ ...mapping, deliver: false }, {})).toEqual([]);
  });

  test("files that nothing can read are warned of", async () => {
    const files: MappingInput = { files: true, attachments: [{ each: "files", id: "{{item.id}}" }] };
    const source = { channel: "slack", to: "{{channel}}" };
    const warnings = async (input: MappingInput, channels = {}) =>
      (await findProblems({ ...agentMapping({ ...files, deliver: false, ...input }), channels })).warnings;
    const missing =
      'hooks.mappings[0].files: The files cannot be read. The channel "slack" is not configured: add a channels.slack block.';
    expect(await warnings({ source })).toEqual([missing]);
    expect(await warnings({ source }, { slack: { token: "t" } })).toEqual([]);
    expect(await warnings({ source, files: false })).toEqual([]);
    expect(await warnings({})).toEqual([
      "hooks.mappings[0].files: No file can be read: set hosts in attachments, or a source whose channel has them.",
    ]);
    expect(await warnings({ attachments: [{ url: "{{url}}", hosts: ["files.example.com"] }] })).toEqual([]);
    expect(await warnings({ attachments: [{ each: "files", content: "content" }] })).toEqual([]);
  });

  test("ids are given once, the default ones among them", async () => {
    const mapping = { messageTemplate: "x" };
    expect(await errors(withMapping({ ...mapping, id: "a" }, { ...mapping, id: "a" }))).toEqual([
      'hooks.mappings[1].id: "a" is already the id of hooks.mappings[0]. Choose another id.',
    ]);
    expect(await errors(withMapping({ ...mapping, id: "mapping-1" }, mapping))).toHaveLength(1);
  });
});

describe("agents", () => {
  const providers = { local: { kind: "openai-compatible", baseUrl: "http://127.0.0.1:1/v1" } } as const;
  const agents = (defaults: NonNullable<UserConfig["agents"]>["defaults"]): UserConfig => ({
    agents: { providers, defaults },
  });

  test("without providers a model would be answered by echo", async () => {
    const model = "openai/gpt-5.2";
    const message = `"${model}" has no provider, so the built-in echo would answer. Add agents.providers.openai, or remove the model.`;
    expect(await errors({ agents: { defaults: { model } } })).toEqual([`agents.defaults.model: ${message}`]);
    expect(await errors(withMapping({ messageTemplate: "x", model }))).toEqual([`hooks.mappings[0].model: ${message}`]);
    expect(await errors({ hooks: { presets: [{ use: "mail", with: { model } }] } })).toEqual([
      `hooks.presets[0].with.model: ${message}`,
    ]);
    expect((await errors({ agents: { defaults: { model: "gpt" } } }))[0]).toContain("Write provider/model");
    expect(await errors({ agents: { defaults: { models: [model] } } })).toEqual([]);
  });

  test("a mapping's model has a provider", async () => {
    const mapping = { messageTemplate: "x", model: "other/x" };
    expect(await errors({ ...agents({ model: "local/x" }), ...withMapping(mapping) })).toEqual([
      'hooks.mappings[0].model: "other/x" must be provider/model, with one of the providers local.',
    ]);
  });

  test.each(["local", "local/", "other/x", "/x"])("model %s names no provider and model", async (model) => {
    expect(await errors(agents({ model }))).toEqual([
      `agents.defaults.model: "${model}" must be provider/model, with one of the providers local.`,
    ]);
  });

  test("each model of the list is looked at, and ids may hold slashes", async () => {
    const models = ["local/org/model", { id: "other/x", alias: "o" }];
    expect(await findProblems(agents({ model: "local/org/model", models }))).toEqual({
      errors: [],
      warnings: [
        'agents.defaults.models[1]: "other/x" has no provider, so a run that asks for it will fail. Add it to agents.providers.',
      ],
    });
    expect(await errors(agents({ models: ["local", "/x"] }))).toEqual([
      'agents.defaults.models[0]: "local" must be provider/model, with one of the providers local.',
      'agents.defaults.models[1]: "/x" must be provider/model, with one of the providers local.',
    ]);
  });

  test("the default model is on an enforced list, by id or alias", async () => {
    const models = [{ id: "local/a", alias: "small" }];
    expect(await errors(agents({ model: "local/a", models }))).toEqual([]);
    expect(await errors(agents({ model: "small", models }))).toEqual([]);
    expect(await errors(agents({ model: "local/b", models }))).toEqual([
      'agents.defaults.model: "local/b" is not on the list agents.defaults.models, which is enforced. Add it, or choose another.',
    ]);
  });

  test("an alias means one model", async () => {
    const models = [
      { id: "local/a", alias: "x" },
      { id: "local/b", alias: "x" },
      { id: "local/c", alias: "local/a" },
    ];
    expect(await errors(agents({ model: "x", models }))).toEqual([
      'agents.defaults.models[1].alias: "x" already means another model of the list. Choose another alias.',
      'agents.defaults.models[2].alias: "local/a" already means another model of the list. Choose another alias.',
    ]);
  });

  test("with providers, no default model is warned of", async () => {
    expect((await findProblems(agents({}))).warnings).toEqual([
      "agents.defaults.model: No default model is set, so heartbeats and hooks that name no model will fail. Set one.",
    ]);
  });

  test("a provider's name has no slash", async () => {
    const agentsConfig = {
      providers: { a: { kind: "openai" }, "b/c": { kind: "openai" } },
      defaults: { model: "a/x" },
    } as const;
    expect(await errors({ agents: agentsConfig })).toEqual([
      "agents.providers.b/c: The name of a provider must not contain a slash: in a model, the provider is the part before the first slash.",
    ]);
  });

  test("a heartbeat comes before a timer overflows", async () => {
    expect(await errors({ agents: { defaults: { heartbeat: { every: "24d" } } } })).toEqual([]);
    expect(await errors({ agents: { defaults: { heartbeat: { every: "25d" } } } })).toEqual([
      "agents.defaults.heartbeat.every: The interval must be at most 24d.",
    ]);
  });
});

describe("a budget", () => {
  const local = { kind: "openai-compatible", baseUrl: "http://127.0.0.1:1/v1" } as const;
  const warnings = async (agents: UserConfig["agents"]): Promise<string[]> => (await findProblems({ agents })).warnings;

  test("is warned of where a program reports neither tokens nor cost", async () => {
    const agents = {
      providers: { own: { kind: "command", sandbox: false, command: ["sh"] } },
      defaults: { model: "own/x" },
    } satisfies UserConfig["agents"];
    const silent =
      'agents.budget: The budget does not count runs of "own", because a program (kind: "command") reports no tokens and no cost.';
    expect(await warnings({ ...agents, budget: { perDay: 1, unit: "tokens" } })).toEqual([silent]);
    expect(await warnings({ ...agents, budget: { perDay: 1 } })).toEqual([silent]);
    expect(await warnings(agents)).toEqual([]);
  });

  test("of costs needs no price of an ACP agent, which reports its own", async () => {
    const providers = { own: { kind: "acp" as const, sandbox: false, command: ["sh"] as [string] } };
    const agents = { providers, defaults: { model: "own/x" }, budget: { perDay: 1 } };
    expect(await findProblems({ agents })).toEqual({ errors: [], warnings: [] });
  });

  test("counts a program that asks its model through the service, by the price of that model", async () => {
    const coder = { kind: "command" as const, sandbox: { model: "local/a" }, command: ["sh"] as [string] };
    const agents = { providers: { local, coder }, defaults: { model: "coder/x" }, budget: { perDay: 1 } };
    expect((await findProblems({ agents })).errors).toContain(
      'agents.budget: A budget of costs requires agents.prices. Add what each model costs, or set unit: "tokens".',
    );
    const prices = { "local/a": { input: 1, output: 1 } };
    const priced = await findProblems({ agents: { ...agents, prices } });
    expect([...priced.errors, ...priced.warnings].filter((text) => text.startsWith("agents.budget"))).toEqual([]);
  });

  test.each(["own/x", "fast"])("of costs needs no price of an ACP agent that is named %s", async (model) => {
    const agents = {
      providers: { own: { kind: "acp", sandbox: false, command: ["sh"] } },
      defaults: { model, fallbackModels: [model], models: [{ id: "own/x", alias: "fast" }] },
      budget: { perDay: 1, unit: "cost" },
    } satisfies UserConfig["agents"];
    expect(await findProblems({ agents })).toEqual({ errors: [], warnings: [] });
  });

  test("does not count a fallback model without a price", async () => {
    const defaults = { model: "local/a", fallbackModels: ["local/b"] };
    const prices = { "local/a": { input: 1, output: 1 } };
    expect(await warnings({ providers: { local }, defaults, prices, budget: { perDay: 1 } })).toEqual([
      'agents.budget: The budget does not count runs of "local/b", which has no price. Add it to agents.prices.',
    ]);
  });
});

test("a mapping's static model is on an enforced list, by id or alias", async () => {
  const config = (model: string): UserConfig => ({
    agents: {
      providers: { a: { kind: "echo" }, c: { kind: "echo" } },
      defaults: { model: "a/b", models: ["a/b", { id: "c/d", alias: "big" }] },
    },
    hooks: { mappings: [{ messageTemplate: "x", model }] },
  });
  for (const model of ["a/b", "big", "{{model}}"]) expect(await errors(config(model))).toEqual([]);
  expect(await errors(config("x/y"))).toEqual([
    'hooks.mappings[0].model: "x/y" is not on the list agents.defaults.models, which is enforced. Add it, or choose another.',
  ]);
});

test("a heartbeat's route has a configured channel and a recipient", async () => {
  const of = (heartbeat: object) =>
    errors({ agents: { defaults: { heartbeat } }, channels: { slack: { token: "t" } } });
  expect(await of({ channel: "slack", to: "C1" })).toEqual([]);
  expect(await of({ channel: "slack" })).toEqual(["agents.defaults.heartbeat.to: Set a recipient too, or no channel."]);
  expect(await of({ to: "C1" })).toEqual(["agents.defaults.heartbeat.channel: Set a channel too, or no to."]);
  expect(await of({ channel: "discord", to: "1" })).toEqual([
    expect.stringContaining('agents.defaults.heartbeat.channel: The channel "discord" is not configured'),
  ]);
});

test("people who may answer by a message need a preset that verifies it", async () => {
  const channels = { slack: { token: "t" }, discord: { token: "t" } };
  const of = async (channel: string, presets: NonNullable<UserConfig["hooks"]>["presets"] = []) => {
    const agents = { approvals: { channel, to: "C1", by: ["slack:T0ACME/U0ANN"] } };
    const { warnings } = await findProblems({ agents, channels, hooks: { presets } });
    return warnings.filter((warning) => warning.startsWith("agents.approvals"));
  };
  expect(await of("slack", [{ use: "slack", with: { secret: "s3cret-of-slack" } }])).toEqual([]);
  expect(await of("slack", ["slack"])).toEqual([expect.stringContaining('Add the preset "slack" with a secret')]);
  expect(await of("discord")).toEqual([expect.stringContaining('Add the preset "discord" with a secret')]);
});

test("questions go to a place, or to the page alone", async () => {
  const of = async (approvals: NonNullable<UserConfig["agents"]>["approvals"]) =>
    errors({ agents: { approvals }, channels: { slack: { token: "t" } } });
  expect(await of({})).toEqual([]);
  expect(await of({ expires: "24h" })).toEqual([]);
  expect(await of({ channel: "slack", to: "C1", expires: "24h" })).toEqual([]);
  expect(await of({ channel: "slack" })).toEqual(["agents.approvals.to: Set a recipient too, or no channel."]);
  expect(await of({ to: "C1" })).toEqual(["agents.approvals.channel: Set a channel too, or no to."]);
  expect(await of({ by: ["slack:T0ACME/U0ANN"] })).toEqual([
    expect.stringContaining("agents.approvals.by: Answers come"),
  ]);
  expect(await of({ channel: "slack", to: "#ops" })).toEqual([]);
  expect(await of({ channel: "slack", to: "#ops", by: ["slack:T0ACME/U0ANN"] })).toEqual([
    expect.stringContaining("agents.approvals.to: Answers come with the id of their place, and #ops is a name."),
  ]);
});

test("a database has no size limit", async () => {
  const url = "postgres://hookline@db.example.com/hookline";
  const config: UserConfig = { gateway: GATEWAY, store: { url, retention: { maxBytes: 2 ** 30 } } };
  const [error, ...others] = await errors(config);
  expect(error).toContain("store.retention.maxBytes");
  expect(error).toContain("Set retention.maxAge");
  expect(others).toEqual([]);
});
