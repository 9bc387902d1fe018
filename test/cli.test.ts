import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { exampleOf, leafCommands, nameOf } from "../src/cli/command-list.ts";
import { createProgram } from "../src/cli/all-commands.ts";
import { leaveProject, writeProject } from "../src/cli/demo/project.ts";
import { runCli } from "../src/cli/main.ts";
import { createOperatorClient } from "../src/cli/operator-client.ts";
import { type CliResult, createTestIo, runWebhooks, startWebhooks } from "./support/cli.ts";
import { startSlack } from "./support/vendors/slack.ts";
import { HOOK_TOKEN, withTokens } from "./support/service.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-cli-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("webhooks check", () => {
  test("reports that a configuration is valid", async () => {
    write("webhooks.json5", JSON.stringify(withTokens({ hooks: { presets: ["mail"] } })));
    expect(await webhooks("check")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("is valid (1 mapping: mail)"),
    });
  });

  test("prints every problem with file, line and key, and exits 1", async () => {
    const lines = [
      "{",
      `  hooks: { enabled: true, token: "${HOOK_TOKEN}", maxBodyByte: 3, presets: ["gmial"],`,
      "    mappings: [",
      '      { match: { path: "a" }, messageTemplate: "{{nope x}}" },',
      '      { match: { path: "b" }, messageTemplate: "x", chanel: "slack" },',
      '      { match: { path: "c" }, transform: { module: "gone.ts" } },',
      '      { match: { path: "d" }, transform: { module: "broken.ts" } },',
      '      { match: { path: "e" }, messageTemplate: "x", channel: "slakc" },',
      "    ] },",
      "}",
    ];
    write("webhooks.json5", lines.join("\n"));
    write("transforms/broken.ts", "export default () => {\n  const = 1;\n};\n");
    const { code, stderr } = await webhooks("check");
    expect(code).toBe(1);
    expect(stderr).toMatch(/webhooks\.json5:2:\d+ hooks\.maxBodyByte: .*maxBodyBytes/);
    expect(stderr).toMatch(/webhooks\.json5:2:\d+ hooks\.presets\[0\]: .*mail/);
    expect(stderr).toMatch(/webhooks\.json5:4:\d+ hooks\.mappings\[0\]\.messageTemplate: .*nope/);
    expect(stderr).toMatch(/webhooks\.json5:5:\d+ hooks\.mappings\[1\]\.chanel: .*channel/);
    expect(stderr).toMatch(/webhooks\.json5:6:\d+ hooks\.mappings\[2\]\.transform\.module: .*gone\.ts/);
    expect(stderr).toMatch(/transforms\/broken\.ts:2:\d+ .*/);
    expect(stderr).toMatch(/webhooks\.json5:8:\d+ hooks\.mappings\[4\]\.channel: .*slack/);
  });

  test("--json prints mappings, warnings and problems", async () => {
    write("webhooks.json5", JSON.stringify(withTokens({ gateway: { auth: undefined }, hooks: { presets: ["mail"] } })));
    const good = await webhooks("check", "--json");
    expect(good.code).toBe(0);
    expect(JSON.parse(good.stdout)).toMatchObject({ ok: true, mappings: ["mail"], problems: [], warnings: [{}] });
    write("webhooks.json5", "{ hooks: { enabled: true, tokn: 1 } }");
    const bad = await webhooks("check", "--json");
    expect(bad.code).toBe(1);
    expect(JSON.parse(bad.stdout)).toMatchObject({
      ok: false,
      problems: expect.arrayContaining([expect.objectContaining({ key: "hooks.tokn", line: 1, column: 27 })]),
    });
  });

  test("shows what each call of a transform loads, and warns of more than 300 KB with the largest package", async () => {
    for (const [name, size] of Object.entries({ large: 400_000, small: 50_000 })) {
      mkdirSync(path.join(folder, "node_modules", name), { recursive: true });
      write(`node_modules/${name}/index.js`, `module.exports = "${"x".repeat(size)}";`);
    }
    write("transforms/both.ts", 'import a from "small";\nimport b from "large";\nexport default () => a + b;');
    write("transforms/few.ts", "export default () => null;");
    const mappings = ["both", "few"].map((name) => ({ match: { path: name }, transform: { module: `${name}.ts` } }));
    write("webhooks.json5", JSON.stringify(withTokens({ hooks: { mappings } })));
    const { code, stdout, stderr } = await webhooks("check");
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^transform: few\.ts \d\.\d KB, loaded in \d+\.\d ms by each call$/m),
    ]);
    expect(stdout).toMatch(/^transform: both\.ts 44\d KB, loaded in .* by each call; "large" has 391 KB of it$/m);
    expect(stderr).toMatch(
      /^warning: .*Each call loads 44\d KB of both\.ts and its imports, of which "large" has 391 KB\./,
    );
    expect(stderr).not.toContain("few.ts");
    expect(JSON.parse((await webhooks("check", "--json")).stdout)).toMatchObject({
      modules: [{ bytes: expect.any(Number), packages: [{ name: "large" }, { name: "small" }] }, { packages: [] }],
    });
  });

  test("--strict does not allow warnings", async () => {
    write("webhooks.json5", JSON.stringify(withTokens({ gateway: { auth: undefined } })));
    expect(await webhooks("check")).toMatchObject({ code: 0, stderr: expect.stringMatching(/^warning: .*gateway/) });
    expect(await webhooks("check", "--strict")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("--strict"),
    });
    expect(JSON.parse((await webhooks("check", "--strict", "--json")).stdout)).toMatchObject({
      ok: false,
      problems: [],
    });
  });

  test("--types checks the transforms with the project's own TypeScript", async () => {
    write("webhooks.json5", JSON.stringify(withTokens({})));
    await webhooks("transform", "new", "status");
    expect(await webhooks("check", "--types")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("npm install"),
    });
    mkdirSync(path.join(folder, "node_modules"));
    symlinkSync(
      path.join(import.meta.dirname, "../node_modules/typescript"),
      path.join(folder, "node_modules/typescript"),
    );
    expect(await webhooks("check", "--types")).toMatchObject({ code: 0, stderr: "" });
    write("transforms/wrong.ts", "export const port: number = {\n  a: 1,\n};\n");
    const { code, stderr } = await webhooks("check", "--types");
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^\S+transforms\/wrong\.ts:1:14: TS2322: Type /),
    });
    const json = JSON.parse((await webhooks("check", "--types", "--json")).stdout);
    expect(json).toMatchObject({
      ok: false,
      problems: [{ file: path.join(folder, "transforms/wrong.ts"), line: 1, column: 14 }],
    });
  });

  test("passes what the demo leaves", async () => {
    const project = writeProject(folder, "http://127.0.0.1:1/");
    const { io, stderr } = createTestIo(folder);
    await createOperatorClient({ config: project.config }, { ...io, env: project.env });
    expect(stderr()).toBe("");
    leaveProject(project);
    expect(await webhooks("check")).toMatchObject({ code: 0 });
  });

  test("says where it looked when there is no configuration", async () => {
    expect(await webhooks("check")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("webhooks.json5"),
    });
  });
});

describe("every command", () => {
  const { io } = createTestIo("/");
  const commands = leafCommands(createProgram(io)).map((command) => [nameOf(command), command] as const);

  test.each(commands)("%s has an example and --json", (name, command) => {
    expect(exampleOf(command)).toMatch(new RegExp(`^npx hookline ${name}( |$)`));
    expect(command.options.map(({ long }) => long)).toContain("--json");
  });

  test("shows its example in its help, and the exit codes in that of all", async () => {
    const { code, stdout } = await webhooks("events", "show", "--help");
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\nExample:\n {2}webhooks events show --last\n$/),
    });
    expect((await webhooks("--help")).stdout).toContain("Exit codes: 0 done");
  });

  test("names the command as npx was called: `npx webhooks` may be somebody else's package", async () => {
    const env = { npm_command: "exec" };
    const { stdout } = await startWebhooks(folder, ["tail", "--help"], { env }).ended;
    expect(stdout).toMatch(/^Usage: npx hookline tail /);
    expect(stdout).toContain("`npx hookline dev`");
    expect(stdout).toMatch(/\nExample:\n {2}npx hookline tail /);
  });
});

test("a usage error is one line and the next step, with exit code 2", async () => {
  expect(await webhooks("serve", "--port", "x")).toEqual({
    code: 2,
    stdout: "",
    stderr:
      "error: option '--port <number>' argument 'x' is invalid. A port is a whole number from 0 to 65535.\nSee `webhooks serve --help`.\n",
  });
  expect(await webhooks("chekc")).toMatchObject({
    code: 2,
    stderr: "error: unknown command 'chekc'\n(Did you mean check?)\nSee `webhooks --help`.\n",
  });
});

test.each([
  ["serv", "serve"],
  ["logs", "tail"],
  ["start", "serve"],
  ["validate", "check"],
])("webhooks %s: did you mean %s?", async (given, meant) => {
  expect(await webhooks(given)).toMatchObject({ code: 2, stderr: expect.stringContaining(`(Did you mean ${meant}?)`) });
});

test("-v is --version", async () => {
  expect(await webhooks("-v")).toEqual(await webhooks("--version"));
});

test("presets list cuts no line in a pipe, and no word on a narrow terminal", async () => {
  const { stdout } = await webhooks("presets", "list");
  const { description, aliases } = JSON.parse((await webhooks("presets", "show", "github", "--json")).stdout);
  const text = `  ${description} Also: ${aliases.join(", ")}.\n`;
  expect(stdout).toContain(text);
  const { io, stdout: shown } = createTestIo(folder);
  await runCli(["presets", "list"], { ...io, stdout: Object.assign(io.stdout, { columns: 60 }) });
  expect(
    shown()
      .split("\n")
      .filter((line) => line.length > 60),
  ).toEqual([]);
  expect(shown().replaceAll(/\n {2,}/g, " ")).toContain(text);
});

test.each([
  [["status"], 1, "config"],
  [["test"], 1, "config"],
  [["transform", "new", "x"], 1, "config"],
  [["import", "openclaw", "absent.json", "--config", "new.json"], 1, "config"],
  [["events", "show"], 2, "usage"],
  [["events", "list", "--since", "soon"], 2, "usage"],
  [["channels", "test", "slack"], 2, "usage"],
  [["events"], 2, "usage"],
  [["chekc"], 2, "usage"],
  [["logs"], 2, "usage"],
  [["events", "list", "--url", "http://127.0.0.1:1"], 3, "unreachable"],
])("with --json the error of %j is JSON", async (args, code, name) => {
  const config = withTokens({});
  write("webhooks.json5", name === "unreachable" ? JSON.stringify(config) : "{ hooks: ");
  const result = await webhooks(...args, "--json");
  expect(result.code).toBe(code);
  expect(JSON.parse(result.stdout)).toEqual({ ok: false, error: expect.any(String), code: name });
});

describe("wrong input has a plain message and the exit code of the documentation", () => {
  test.each([
    [["send", "a", "folder"], 1, "folder: The file cannot be read: illegal operation on a directory"],
    [["send", "a", "gone.json"], 1, "gone.json: The file cannot be read: no such file"],
    [["try", "a", "folder"], 1, "folder: The file cannot be read: illegal operation on a directory"],
    [["try", "a", "-"], 1, "Standard input cannot be read as JSON"],
    [["transform", "new", "mine", "--dir", "webhooks.json5"], 1, "mine.samples: not a directory"],
    [["channels", "test", "slak", "--to", "x"], 1, 'did you mean "slack"?'],
    [["check", "--config", "folder"], 1, "This is not a file. It is named by --config."],
    [["check", "--config", "gone.json5"], 1, "The file does not exist. It is named by --config."],
    [
      ["import", "openclaw", "folder", "--config", "new.json5"],
      1,
      "folder: The file cannot be read: illegal operation",
    ],
    [["init", "--yes", "--config", "folder"], 1, "it is not a regular file"],
    [["presets", "enable", "github", "--config", "folder"], 1, "it is not a regular file"],
    [["presets", "show", "gmial"], 1, 'did you mean "mail"?'],
    [["presets", "enable", "github", "--secret", "-"], 2, "--secret must not be empty."],
    [["presets", "enable", "github", "--secret", "s", "--generate"], 2, "either --secret or --generate"],
    [["mail", "setup", "--address", "nobody"], 2, "--address: expected an address"],
    [["events", "show"], 2, "Name an event by its id"],
    [["events", "save", "a", "--last"], 2, "Name an event, or say --last, not both."],
    [["events", "replay"], 2, "Name events by their ids"],
    [["events", "list", "--since", "soon"], 2, "argument 'soon' is invalid. Expected a duration before now"],
    [["events", "list", "--status", "ok"], 2, "argument 'ok' is invalid. Expected held or "],
    [["events", "catch-up", "jira"], 2, "The sender of jira does not say what did not arrive"],
    [["dead-letters", "retry"], 2, "Name dead letters by their ids"],
    [["dead-letters", "drop", "a", "--all"], 2, "Name dead letters, or say --group or --all, not both."],
    [["store", "migrate", "--to", "postgres://u:p'w@h:x/d"], 2, "option '--to <url>': Expected a URL such as"],
    [["send", "--header", "a-secret", "x", "y"], 2, "option '--header <name:value>': Expected <name>:<value>."],
    [["store", "migrate"], 2, "Name the database with --to, or set store.url."],
  ])("%j", async (args, code, message) => {
    write("webhooks.json5", JSON.stringify(withTokens({})));
    mkdirSync(path.join(folder, "folder"));
    const noToken = { GITHUB_TOKEN: "", GH_TOKEN: "" };
    const { stderr, ...result } = await startWebhooks(folder, args, { env: noToken }).ended;
    expect({ ...result, stderr }).toMatchObject({ code, stderr: expect.stringContaining(message) });
    expect(stderr).not.toMatch(/\bE[A-Z]{4,}\b|^ +at /m);
  });
});

test("webhooks try prints the action that a payload would give", async () => {
  const mappings = [{ id: "order", match: { path: "orders/new" }, messageTemplate: "{{id}} {{headers.x-shop}}" }];
  write("webhooks.yaml", JSON.stringify(withTokens({ hooks: { mappings } })));
  write("payload.json", '{ "id": 7 }');
  const { code, stdout } = await webhooks("try", "orders/new", "payload.json", "--header", "X-Shop: north");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    mapping: "order",
    actions: [{ kind: "agent", message: "7 north" }],
  });
  expect(stdout).not.toContain("trustedName");
  write("windows.json", '\ufeff{ "id": 7 }\r\n');
  expect(await webhooks("try", "orders/new", "windows.json", "--header", "X-Shop: north")).toMatchObject({ code: 0 });
  expect(await webhooks("try", "order/new", "payload.json")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('did you mean "orders/new"?'),
  });
  expect(await webhooks("try", "orders/new", "nope.json")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/nope\.json: The file cannot be read: no such file or directory\.$/m),
  });
});

describe("webhooks channels test", () => {
  test("sends one message, or shows the service's error", async () => {
    const slack = await startSlack();
    try {
      const channels = { slack: { token: slack.token, baseUrl: slack.baseUrl } };
      write("webhooks.json5", JSON.stringify({ channels }));
      const sent = await webhooks("channels", "test", "slack", "--to", slack.channel, "--text", "Hello there");
      expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining("slack accepted the message") });
      expect(await slack.messages()).toEqual(["Hello there"]);
      const refused = await webhooks("channels", "test", "slack", "--to", "C0UNKNOWN0");
      expect(refused.code).toBe(1);
      expect(refused.stderr).toMatch(
        /^slack, to C0UNKNOWN0: Slack refused the message: channel_not_found\. .+ \(a retry will not help\)$/m,
      );
      expect(refused.stderr).not.toContain(slack.token);
    } finally {
      await slack.close();
    }
  });

  test.each([
    ["signal", "not configured"],
    ["fax", "There is no channel"],
  ])("%s: %s", async (name, message) => {
    write("webhooks.json5", "{}");
    const { code, stderr } = await webhooks("channels", "test", name, "--to", "x");
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
  });
});

describe.each(["check", "serve", "doctor"])("webhooks %s", (command) => {
  test.each(["/proc/x", "/proc/x/y", "./file/state"])("says that the state folder %s is refused", async (place) => {
    write("file", "");
    write("webhooks.json5", JSON.stringify(withTokens({ store: { path: place } })));
    const { code, stdout, stderr } = await webhooks(command, ...(command === "serve" ? ["--port", "0"] : []));
    expect(code).toBe(1);
    expect(stdout + stderr).toMatch(/state folder.* cannot be created/);
  });
});

describe("webhooks serve", () => {
  test("refuses to start without a hook token, and names the key and the reason", async () => {
    write("webhooks.json5", "{ hooks: { enabled: true } }");
    const { code, stderr } = await webhooks("serve");
    expect(code).toBe(1);
    expect(stderr).toMatch(/hooks\.token/);
  });
});

function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), text);
}

function webhooks(...args: string[]): Promise<CliResult> {
  return runWebhooks(folder, ...args);
}
