import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { findProblems } from "../../../../test/support/config.ts";
import { builtInDrivers } from "../../../service/drivers.ts";
import { readOwn } from "../../shared/json.ts";
import type { ReadConfig } from "../load.ts";
import { checkConfig } from "../../../service/drivers.ts";
import type { UserConfig } from "../schema/generated.ts";
import { compileSchema } from "../schema/validator.ts";
import { findPresets, PRESETS_FOLDER, readPreset, requirePreset } from "./file.ts";
import { writeConnectSteps } from "./page.ts";

const { providers } = builtInDrivers;

const CI = {
  name: "ci",
  description: "For this test.",
  parameters: {
    labels: { type: "array", items: { type: "string" } },
    message: { type: "string" },
    secret: { type: "string" },
  },
  events: {
    known: ["push", "run.done", "run.failed", ...Array.from({ length: 12 }, (_, n) => `other.${n}`)],
    default: ["push"],
  },
  ignore: { bots: true, successes: { type: "boolean", default: false } },
  common: {
    event: "{{kind}}",
    events: { $param: "events" },
    ignore: [
      { $if: "ignore.bots", value: "{{by}}", is: "bot", reason: "a bot sent it" },
      { $if: "ignore.successes", value: "{{state}}", is: "ok", reason: "it succeeded" },
    ],
    match: { source: "ci" },
    messageTemplate: { $param: "message", $file: "message.hbs" },
    name: "CI",
  },
  required: ["secret"],
  mappings: [
    {
      match: { where: { required: [{ $param: "first" }, "x"] } },
    },
    {
      id: "named",
      messageTemplate: "y",
      transform: { module: "t.ts", secrets: { S: { $param: "secret" } } },
    },
  ],
};
const BOX = {
  name: "box",
  description: "For this test.",
  defaultsFrom: "hooks.mail",
  mappings: [{ messageTemplate: "x" }],
};

const made: string[] = [];
afterAll(() => {
  for (const root of made) rmSync(root, { recursive: true });
});

/** A folder of presets, each in a folder of its name. */
function presetsFolder(...presets: ({ name: string } & object)[]): string {
  const root = mkdtempSync(path.join(tmpdir(), "hookline-presets-"));
  made.push(root);
  for (const preset of presets) {
    mkdirSync(path.join(root, preset.name));
    writeFileSync(path.join(root, preset.name, "preset.json"), JSON.stringify(preset, undefined, 2));
    writeFileSync(path.join(root, preset.name, "message.hbs"), "x\n");
  }
  return root;
}

const ci = { ...CI, parameters: { ...CI.parameters, first: { type: "string" } } };
const presetsDir = presetsFolder(ci, BOX);

const channels = { slack: { token: "x" } };

function load(hooks: UserConfig["hooks"], root = presetsDir): Promise<ReadConfig> {
  const options = { file: "/etc/webhooks.json5", baseDir: root, env: {} };
  return checkConfig({ hooks, channels }, options);
}

test("the files of the presets in use are watched, also one that cannot be used", async () => {
  const [preset, template] = ["ci/preset.json", "ci/message.hbs"].map((name) => path.join(presetsDir, name));
  const { files } = await load({ presets: [{ use: "./ci", with: { secret: "s", first: "f" } }] });
  expect(files.filter((file) => file.startsWith(presetsDir))).toEqual([preset, template]);
  const root = presetsFolder(BOX);
  const broken = path.join(root, "box/preset.json");
  writeFileSync(broken, "{");
  await expect(load({ presets: ["./box"] }, root)).rejects.toMatchObject({ files: [broken] });
});

async function errors(hooks: UserConfig["hooks"], root = presetsDir): Promise<string[]> {
  return (await findProblems({ hooks, channels }, { baseDir: root })).errors;
}

const useCi = (parameters: Record<string, unknown>) => ({
  use: "./ci",
  with: { secret: "s3cret", ...parameters },
});

describe("a preset in use", () => {
  test("adds its mappings after the configuration's own, parameters filled in", async () => {
    const { config, problems } = await load({
      presets: [useCi({ channel: "slack" })],
      mappings: [{ messageTemplate: "own" }],
    });
    const folder = path.join(presetsDir, "ci");
    const place = {
      preset: "ci",
      hasOwnKey: true,
      file: path.join(folder, "preset.json"),
      transformsDir: folder,
      baseDir: folder,
    };
    expect(problems).toEqual([]);
    const common = {
      match: { path: "ci", source: "ci" },
      event: "{{kind}}",
      events: ["push"],
      ignore: [{ value: "{{by}}", is: "bot", reason: "a bot sent it" }],
      messageTemplate: "x",
      name: "CI",
      channel: "slack",
    };
    expect(config.hooks.mappings.slice(1)).toEqual([
      {
        ...place,
        id: "ci-0",
        key: "mappings[0]",
        mapping: { ...common, match: { ...common.match, where: { required: ["x"] } } },
      },
      {
        ...place,
        id: "ci-named",
        key: "mappings[1]",
        mapping: {
          ...common,
          id: "named",
          messageTemplate: "y",
          transform: { module: "t.ts", secrets: { S: "s3cret" } },
        },
      },
    ]);
  });

  test("a parameter that is given takes the place of a file", async () => {
    const { config } = await load({ presets: [useCi({ message: "own" })] });
    expect(config.hooks.mappings[0]?.mapping.messageTemplate).toBe("own");
  });

  test("a setting that is given replaces the preset's own in every mapping", async () => {
    const { config } = await load({ presets: [useCi({ name: "Mine", events: ["run.*"], ignore: { bots: false } })] });
    const changed = { name: "Mine", events: ["run.*"], ignore: [] };
    expect(config.hooks.mappings.map(({ mapping }) => mapping)).toMatchObject([changed, changed]);
  });

  describe("with what is added to its own conditions", () => {
    const rule = { value: "{{repo}}", is: "sandbox", reason: "it is the sandbox" };
    const own = { value: "{{by}}", is: "bot", reason: "a bot sent it" };
    const where = { properties: { n: { type: "number" } } };

    test.each<[unknown, object[]]>([
      [{ bots: false, rules: [rule] }, [rule]],
      [{ rules: [rule] }, [own, rule]],
      [[rule], [own, rule]],
    ])("ignore: %j", async (ignore, rules) => {
      const { config, problems } = await load({ presets: [useCi({ ignore })] });
      expect(problems).toEqual([]);
      expect(config.hooks.mappings.map(({ mapping }) => mapping.ignore)).toEqual([rules, rules]);
    });

    test("where", async () => {
      const { config, problems } = await load({ presets: [useCi({ where })] });
      expect(problems).toEqual([]);
      const [first, second] = config.hooks.mappings.map(({ mapping }) => mapping.match?.where);
      expect([first, second]).toEqual([{ allOf: [{ required: ["x"] }, where] }, where]);
    });

    test.each([
      [{ ignore: [{ value: "{{by}}" }] }, "ignore[0].reason: This value is required."],
      [
        { ignore: { rules: [{ ...rule, iz: "x" }] } },
        'ignore.rules[0].iz: The key "iz" is unknown; did you mean "is"?',
      ],
      [{ where: "x" }, "where: This value must be an object or a boolean, not a string."],
    ])("a problem is theirs: %j", async (parameters, message) => {
      expect(await errors({ presets: [useCi(parameters)] })).toEqual([`hooks.presets[0].with.${message}`]);
    });
  });

  test("with fields full adds the payload to the message", async () => {
    const { config } = await load({ presets: [useCi({ fields: "full" })] });
    expect(config.hooks.mappings[0]?.mapping.messageTemplate).toBe("x\n\nPayload:\n{{json payload}}");
  });

  test("with a single mapping gives it its own name", async () => {
    expect((await load({ presets: ["./box"] })).config.hooks.mappings.map(({ id }) => id)).toEqual(["box"]);
  });

  test("has its auth once it has the credential, which is not always a secret", async () => {
    const topicArn = "arn:aws:sns:eu-west-1:123456789012:alerts";
    const authsOf = async (use: string, given: Record<string, string>) => {
      const { config, warnings } = await load({ presets: [{ use, with: given }] }, PRESETS_FOLDER);
      return { auth: config.hooks.mappings[0]?.mapping.auth, warnings: warnings.map(({ message }) => message) };
    };
    expect(await authsOf("sns", { topicArn })).toMatchObject({ auth: { scheme: "sns", topicArn } });
    expect(await authsOf("teams", { appId: "a" })).toMatchObject({ auth: { scheme: "msteams", appId: "a" } });
    for (const [use, credential] of [
      ["sns", "topicArn"],
      ["teams", "appId"],
      ["circleci", "secret"],
    ] as const) {
      expect(await authsOf(use, {})).toMatchObject({
        auth: undefined,
        warnings: expect.arrayContaining([expect.stringContaining(`Set with.${credential}.`)]),
      });
    }
    const outgoing = { scheme: "outgoing-webhook" };
    expect((await authsOf("teams", outgoing)).warnings.join()).toContain("Set with.secret.");
  });

  test("is refused twice under one path", async () => {
    expect(await errors({ presets: ["./box", { use: "./box" }] })).toEqual([
      'hooks.presets[1]: The preset "box" is already used at hooks.presets[0]. Give one of them another path in with.',
    ]);
  });

  test("is two hooks under two paths", async () => {
    const { config, problems } = await load({ presets: ["./box", { use: "./box", with: { path: "in/box" } }] });
    expect(problems).toEqual([]);
    expect(config.hooks.mappings.map(({ id, mapping }) => [id, mapping.match?.path])).toEqual([
      ["box", "box"],
      ["in/box", "in/box"],
    ]);
  });

  test("has no id that a mapping has", async () => {
    expect(await errors({ presets: ["./box"], mappings: [{ id: "box", messageTemplate: "x" }] })).toEqual([
      'hooks.mappings[0].id: "box" is also the id of a mapping of the preset "box". Choose another id.',
    ]);
  });

  test.each(["mial", "a/../../mail", "constructor"])("is refused if it does not exist: %s", async (name) => {
    const [error] = (await errors({ presets: ["./ci", name] })).toReversed();
    expect(error).toMatch(`hooks.presets[1]: There is no preset "${name}"; `);
  });

  test("an unknown one names the nearest", async () => {
    expect((await errors({ presets: ["mial"] }))[0]).toMatch(/; did you mean "mail"\?$/);
  });
});

describe("parameters", () => {
  test.each([
    [{ chanel: "x" }, 'hooks.presets[0].with.chanel: The key "chanel" is unknown; did you mean "channel"?'],
    [{ deliver: "yes" }, "hooks.presets[0].with.deliver: This value must be a boolean or an array, not a string."],
    [{ labels: ["a", 5] }, "hooks.presets[0].with.labels[1]: This value must be a string, not a number."],
    [{ secret: undefined }, "hooks.presets[0].with.secret: This value is required."],
    [{ events: ["runn.*"] }, 'hooks.presets[0].with.events[0]: This value is unknown; did you mean "run.*"?'],
    [{ ignore: { bot: true } }, 'hooks.presets[0].with.ignore.bot: The key "bot" is unknown; did you mean "bots"?'],
  ])("%j are checked as the preset declares them", async (parameters, sentence) => {
    expect(await errors({ presets: [useCi(parameters)] })).toEqual([sentence]);
  });

  test.each([
    ["github", { senders: ["eve"] }, /senders: .* unknown; write from now, .*"!@/],
    ["teams", { unmentioned: false }, /unmentioned: .* unknown; write mention now, true/],
    ["slack", { channels: ["C1"] }, /channels: .* unknown; write place now, .*"!C/],
    ["telegram", { chats: ["7"] }, /chats: .* unknown; write place now, .*"!-100/],
    // Machines have no authors.
    ["grafana", { senders: ["eve"] }, /senders: .* unknown; known here: /],
  ])("a key of `ignore` that %s had before, %j, says what to write instead", async (use, ignore, sentence) => {
    const found = await errors({ presets: [{ use, with: { secret: "s".repeat(32), ignore } }] });
    expect(found.filter((error) => error.includes(".with.ignore"))).toEqual([expect.stringMatching(sentence)]);
  });

  test("a problem of the mapping that a value came to is the value's", async () => {
    expect(await errors({ presets: [useCi({ channel: "slakc" })] })).toEqual([
      'hooks.presets[0].with.channel: There is no channel "slakc"; did you mean "slack"?',
    ]);
    expect(await errors({ presets: [useCi({ channel: " " })] })).toEqual([
      "hooks.presets[0].with.channel: This value must not be blank.",
    ]);
  });

  test("mail takes those that are not given from hooks.mail", async () => {
    const { config } = await load({
      mail: { channel: "slack", model: "a/b", to: "not a parameter of this one" },
      presets: [{ use: "./box", with: { model: "c/d" } }],
    });
    expect(config.hooks.mappings[0]?.mapping).toMatchObject({ channel: "slack", model: "c/d" });
  });

  test("other presets take nothing from hooks.mail", async () => {
    const { config } = await load({ mail: { channel: "slack" }, presets: [useCi({})] });
    expect(config.hooks.mappings[0]?.mapping.channel).toBeUndefined();
  });

  test("a problem that came from hooks.mail is reported there, once", async () => {
    expect(await errors({ mail: { channel: "slakc" }, presets: ["./box"] })).toEqual([
      'hooks.mail.channel: There is no channel "slakc"; did you mean "slack"?',
    ]);
  });
});

describe("dedupe in with", () => {
  const gitlab = (dedupe: unknown) => ({
    presets: [{ use: "gitlab", with: { secret: "a-long-shared-secret", dedupe } }],
  });
  const builtIn = async (hooks: object) => (await findProblems({ hooks, channels })).errors;

  test.each([false, "{{object_kind}}", "{{now}}"])("a plain scheme needs the delivery's id: %j", async (dedupe) => {
    expect(await builtIn(gitlab(dedupe))).toEqual([
      "hooks.presets[0].with.dedupe: The scheme gitlab is plain: only dedupe recognizes a request that is sent again. " +
        "Use a template with the delivery's id, such as {{headers.idempotency-key}}.",
    ]);
  });

  test("replaces the preset's own", async () => {
    expect(await builtIn(gitlab("{{headers.x-gitlab-event-uuid}}:{{user.name}}"))).toEqual([]);
    const { config } = await checkConfig(
      { hooks: { presets: [{ use: "github", with: { secret: "a-long-shared-secret", dedupe: false } }] } },
      { file: "/etc/webhooks.json5", baseDir: "/etc", env: {} },
    );
    expect(config.hooks.mappings.map(({ mapping }) => mapping.dedupe)).toEqual(
      config.hooks.mappings.map(() => undefined),
    );
  });

  test("the preset generic has one for its parameter", async () => {
    const generic = (dedupe?: unknown) => ({
      presets: [{ use: "generic", with: { secret: "a-long-token-of-a-sender", dedupe } }],
    });
    expect(await builtIn(generic())).toEqual([]);
    expect(await builtIn(generic("{{event_id}}"))).toEqual([]);
    expect(await builtIn(generic(false))).toEqual([expect.stringContaining("The scheme token is plain")]);
  });
});

test("settings of the run and the request replace the preset's own", async () => {
  const settings = {
    coalesce: { key: "{{kind}}", windowMs: 60_000 },
    rateLimit: { max: 5, per: "1h" },
    concurrency: 2,
    maxBodyBytes: 1000,
    wakeMode: "{{#if urgent}}now{{else}}next-heartbeat{{/if}}",
    dedupe: "{{id}}",
  };
  const { config, problems } = await load({ presets: [useCi(settings)] });
  expect(problems).toEqual([]);
  expect(config.hooks.mappings.map(({ mapping }) => mapping)).toMatchObject([settings, settings]);
  expect(await errors({ presets: [useCi({ wakeMode: "later" })] })).toEqual([
    'hooks.presets[0].with.wakeMode: This value must be "now", "next-heartbeat" or a template of one of them.',
  ]);
});

// Otherwise anyone who has seen a request could send it again.
test.each(findPresets())("the built-in preset %s has a dedupe if its sender signs no time", (name) => {
  const { common, mappings } = readPreset(name).preset;
  const untimed = mappings
    .map((mapping) => ({ ...common, ...mapping }))
    .filter(({ auth }) => auth && providers[String(readOwn(auth, "scheme"))]?.about?.tolerance === undefined);
  expect(untimed.filter(({ dedupe }) => dedupe === undefined)).toEqual([]);
});

test.each(findPresets())("the parameters of the built-in preset %s are valid schemas", (name) => {
  expect(() => compileSchema({ properties: readPreset(name).preset.parameters })).not.toThrow();
});

describe("a preset's own mistakes", () => {
  const preset = (mapping: object) => presetsFolder(Object.assign({}, BOX, { name: "bad", mappings: [mapping] }));

  test("a mapping that the schema refuses", async () => {
    const root = preset({ messageTemplate: 5 });
    expect((await load({ presets: ["./bad"] }, root)).problems).toEqual([
      {
        file: path.join(root, "bad/preset.json"),
        line: 7,
        column: 7,
        key: "mappings[0].messageTemplate",
        message: "This value must be a string, not a number.",
      },
    ]);
  });

  test("a parameter that it does not declare", async () => {
    expect(await errors({ presets: ["./bad"] }, preset({ messageTemplate: "x", agent: { $param: "modle" } }))).toEqual([
      'hooks.presets[0].with.modle: The preset has no parameter "modle"; did you mean "model"?',
    ]);
  });

  test("a parameter that a field needs is missed at its own key", async () => {
    const parameters = { module: { type: "string" } };
    const root = presetsFolder(
      Object.assign({}, BOX, { parameters, mappings: [{ transform: { module: { $param: "module" } } }] }),
    );
    expect(await errors({ presets: ["./box"] }, root)).toEqual([
      "hooks.presets[0].with.module: This value is required.",
    ]);
  });

  test("a file that is no preset", async () => {
    const root = presetsFolder({ name: "bad" });
    await expect(load({ presets: ["./bad"] }, root)).rejects.toThrow(
      /preset\.json:1:1 description: This value is required/,
    );
  });
});

describe("a preset of one's own", () => {
  const BAD = { ...BOX, name: "bad" };

  test("without its file names that, which is watched", async () => {
    const root = presetsFolder();
    const file = path.join(root, "presets/acme/preset.json");
    const read = await load({ presets: ["./presets/acme"] }, root);
    expect(read.problems.map(({ key, message }) => `${key}: ${message}`)).toEqual([
      `hooks.presets[0]: There is no preset "./presets/acme": the file ${file} does not exist.`,
    ]);
    expect(read.files).toContain(file);
  });

  test.each([
    ["acme", "./presets/acme"],
    ["presets/acme", "./presets/acme"],
    ["other", "./other"],
  ])("is suggested for %s", async (use, suggested) => {
    const root = presetsFolder(Object.assign({}, BOX, { name: "other" }));
    mkdirSync(path.join(root, "presets/acme"), { recursive: true });
    writeFileSync(path.join(root, "presets/acme/preset.json"), JSON.stringify({ ...BOX, name: "acme" }));
    expect(await errors({ presets: [use] }, root)).toEqual([
      `hooks.presets[0]: There is no preset "${use}". Did you mean "${suggested}"?`,
    ]);
  });

  test.each([
    ["another name than its folder", "bad", "worse", 'name: The name must be "bad", as its folder.'],
    ["a built-in preset's name", "github", "github", 'name: "github" is a built-in preset. Choose another name'],
    ["a folder that is no name", "Acme_1", "acme", 'name: The folder "Acme_1" has the preset\'s name: rename it'],
  ])("with %s is refused", async (_what, folder, name, message) => {
    const root = presetsFolder({ name: folder });
    const file = path.join(root, folder, "preset.json");
    writeFileSync(file, JSON.stringify({ ...BOX, name }, undefined, 2));
    await expect(load({ presets: [`./${folder}`] }, root)).rejects.toMatchObject({
      problems: [{ file, line: 2, message: expect.stringContaining(message.replace(/^name: /, "")), key: "name" }],
    });
  });

  test.each([
    ["a template that is missing", "none.hbs", /none\.hbs cannot be read: ENOENT/],
    ["a template outside of its folder", "../secret", "../secret is outside of the preset's folder."],
    ["a link that leads out", "link.hbs", "link.hbs is outside of the preset's folder."],
    ["a template that is a folder", "sub", /sub cannot be read: it is not a regular file/],
  ])("with %s is refused where it is named", async (_what, $file, message) => {
    const root = presetsFolder(Object.assign({}, BAD, { mappings: [{ messageTemplate: { $file } }] }));
    writeFileSync(path.join(root, "secret"), "hunter2");
    mkdirSync(path.join(root, "bad/sub"));
    symlinkSync("../secret", path.join(root, "bad/link.hbs"));
    const { problems, files } = await load({ presets: ["./bad"] }, root);
    expect(problems).toMatchObject([
      {
        file: path.join(root, "bad/preset.json"),
        key: "mappings[0].messageTemplate",
        message: expect.stringMatching(message),
      },
    ]);
    expect(JSON.stringify(problems)).not.toContain("hunter2");
    expect(files).toContain(path.join(root, "bad", $file));
  });

  test.each([
    ["parameters.x", { parameters: { x: { type: "strin" } } }],
    ["parameters.x", { parameters: { x: { pattern: "(" } } }],
    ["ignore.x", { ignore: { x: { type: 5 } } }],
    ["registration.place", { registration: { place: { minLength: "long" } } }],
  ])("with a schema that is none in %s is refused there", async (key, part) => {
    const root = presetsFolder({ ...BAD, ...part });
    await expect(load({ presets: ["./bad"] }, root)).rejects.toMatchObject({
      problems: [{ key, line: expect.any(Number), message: expect.stringContaining("This is not a JSON Schema: ") }],
    });
  });

  test.each([
    ["a pipe", (file: string) => execFileSync("mkfifo", [file]), "it is not a regular file"],
    ["a folder", (file: string) => mkdirSync(file), "it is not a regular file"],
  ])("whose file is %s is refused", async (_what, make, message) => {
    const root = presetsFolder();
    mkdirSync(path.join(root, "bad"));
    make(path.join(root, "bad/preset.json"));
    await expect(load({ presets: ["./bad"] }, root)).rejects.toThrow(message);
  });

  test("is found by an absolute path and from a folder above too", async () => {
    const root = presetsFolder(BOX);
    mkdirSync(path.join(root, "config"));
    const ids = async (use: string, baseDir: string): Promise<string[]> =>
      (await checkConfig({ hooks: { presets: [use] } }, { baseDir, env: {} })).config.hooks.mappings.map(
        ({ id }) => id,
      );
    expect(await ids("../box", path.join(root, "config"))).toEqual(["box"]);
    expect(await ids(path.join(root, "box"), "/")).toEqual(["box"]);
    expect(await ids("./box/", root)).toEqual(["box"]);
  });
});

test.each(findPresets())("the steps to connect %s end with what a reply at the place of its event needs", (name) => {
  const { preset } = readPreset(name);
  const steps = writeConnectSteps(requirePreset(name, { baseDir: "/", vendors: {} }), "https://a.example/hooks/x");
  const all = [preset.common ?? {}, ...preset.mappings];
  const has = (key: string): boolean => all.some((mapping) => Object.hasOwn(mapping, key));
  const last = steps.split("\n").at(-1) ?? "";
  const [, channel] = /channel: "source"` to `with`, and configure `channels\.(\w+)`/.exec(last) ?? [];
  if (steps !== "" && has("source")) expect(Object.keys(builtInDrivers.channels)).toContain(channel);
  else expect(steps).not.toContain('channel: "source"');
  expect(last.includes("`place` says")).toBe(channel !== undefined && has("place"));
  expect(last.includes("`mention`")).toBe(channel !== undefined && preset.mention !== undefined);
});
