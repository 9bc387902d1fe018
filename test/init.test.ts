/** `webhooks init`, in an empty folder and in one that is in use. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createHookline } from "../src/service/hookline.ts";
import { type CliResult, run, runWebhooks, startWebhooks } from "./support/cli.ts";
import { answerInit, openTerminal } from "./support/terminal.ts";

const root = path.join(import.meta.dirname, "..");

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-init-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("an empty folder becomes one that can be served, with tokens that only the user can read", async () => {
  const { code, stdout } = await webhooks("init", "--yes");
  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Written:\n {2}webhooks\.jsonc\n/),
  });
  const tokens = ["gateway-token", "hook-token"].map((name) => read(`.webhooks/${name}`));
  expect(tokens).toEqual([expect.stringMatching(/^\w{48}\n$/), expect.stringMatching(/^\w{48}\n$/)]);
  expect(tokens[0]).not.toBe(tokens[1]);
  for (const name of ["gateway-token", "hook-token"]) expect(modeOf(`.webhooks/${name}`)).toBe(0o600);
  expect(read("webhooks.jsonc")).toContain("// for you: it opens /api");
  expect(read("webhooks.jsonc") + stdout).not.toContain(tokens[1]!.trim());
  expect(read(".gitignore")).toBe(".webhooks/\nnode_modules/\n");
  expect(await webhooks("check")).toMatchObject({ code: 0, stdout: expect.stringContaining("1 mapping: status") });
  expect(await webhooks("test")).toMatchObject({ code: 0, stdout: expect.stringMatching(/^2 passed, 0 failed$/m) });
  expect(await run(folder, path.join(root, "node_modules/.bin/tsc"), ["-p", "transforms"])).toMatchObject({ code: 0 });
  expect(commandsOf(stdout)).toEqual([
    "webhooks dev",
    "webhooks send status transforms/status.samples/problem.json",
    "webhooks events show --last",
  ]);
});

test("the next command posts a sample of the preset, signed as its sender does", async () => {
  const { stdout } = await webhooks("init", "--yes", "--preset", "github", "--preset", "stripe");
  expect(modeOf(".webhooks/github-secret")).toBe(0o600);
  expect(stdout).toContain("Secret: the content of `.webhooks/github-secret`");
  const send = commandsOf(stdout).find((command) => command.startsWith("webhooks send"))!;
  expect(send).toBe("webhooks send --sample pull-request-opened github");
  const hookline = await createHookline({
    config: path.join(folder, "webhooks.jsonc"),
    port: 0,
    env: {},
    watch: false,
  });
  try {
    const { url } = await hookline.listen();
    const args = [...send.split(" ").slice(1), "--url", url, "--json"];
    const [first, second] = [await webhooks(...args), await webhooks(...args)].map((sent) => JSON.parse(sent.stdout));
    expect([first.status, second.status]).toEqual([202, 202]);
    // Each is a separate delivery.
    expect(second.body.eventId).not.toBe(first.body.eventId);
    expect(await hookline.event(first.body.eventId)).toMatchObject({ credential: "auth:github" });
  } finally {
    await hookline.close();
  }
});

test("files that exist stay as they are, and it says which", async () => {
  write("transforms/status.ts", "export default () => null;\n");
  write("transforms/tsconfig.json", "{}");
  write(".webhooks/hook-token", "mine-0123456789-0123456789\n");
  write(".gitignore", "dist");
  chmodSync(path.join(folder, ".gitignore"), 0o640);
  const { stdout } = await webhooks("init", "--yes");
  expect(stdout).toContain("Kept as it was:\n  transforms/tsconfig.json\n");
  expect(read("transforms/status.ts")).toBe("export default () => null;\n");
  expect(read("transforms/tsconfig.json")).toBe("{}");
  expect(read(".webhooks/hook-token")).toBe("mine-0123456789-0123456789\n");
  expect(read(".gitignore")).toBe("dist\n.webhooks/\n");
  expect(await webhooks("check")).toMatchObject({ code: 0, stdout: expect.stringContaining("0 mappings") });

  const before = read("webhooks.jsonc");
  const again = JSON.parse((await webhooks("init", "--json")).stdout);
  expect(again).toMatchObject({
    ok: true,
    written: [],
    kept: expect.arrayContaining([path.join(folder, "webhooks.jsonc")]),
  });
  expect(read("webhooks.jsonc")).toBe(before);
});

test("an existing configuration gets what is asked for, keeps its comments, and is not changed without --yes", async () => {
  const text = "# mine\nhooks:\n  enabled: true\n  token: ${HOOK_TOKEN} # theirs\n";
  write("webhooks.yaml", text);
  const flags = ["--preset", "github", "--model", "openai:gpt-5.2"];
  const refused = await webhooks("init", ...flags);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes is missing") });
  expect(read("webhooks.yaml")).toBe(text);
  expect(existsSync(path.join(folder, "transforms"))).toBe(false);

  const { stdout } = await webhooks("init", "--yes", ...flags);
  expect(stdout).toContain("Set OPENAI_API_KEY before you start");
  expect(read("webhooks.yaml")).toMatch(/^# mine\nhooks:\n {2}enabled: true\n {2}token: \$\{HOOK_TOKEN\} # theirs\n/);
  const env = { HOOK_TOKEN: "hook-token-0123456789-0123456789", OPENAI_API_KEY: "k" };
  const { ended } = startWebhooks(folder, ["check"], { env });
  expect(await ended).toMatchObject({ code: 0, stdout: expect.stringContaining("github-pull_request") });
  expect(read("webhooks.yaml")).toContain("model: openai/gpt-5.2");
});

test.each([
  [["--model", "gpt-5"], 2, '"gpt-5" is not a model: expected openai:<model>'],
  [["--model", "openai"], 2, '"openai" names no model'],
  [["--preset", "gihtub"], 1, 'There is no preset "gihtub"; did you mean "github"?'],
])("%j is refused, and nothing is written", async (flags, code, message) => {
  expect(await webhooks("init", "--yes", ...flags)).toMatchObject({
    code,
    stderr: expect.stringContaining(message),
  });
  expect(existsSync(path.join(folder, "webhooks.jsonc"))).toBe(false);
});

test("a folder that cannot be made is named, without the system's words", async () => {
  writeFileSync(path.join(folder, ".webhooks"), "");
  const { code, stderr } = await webhooks("init", "--yes");
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `${path.join(folder, ".webhooks")}: file already exists\nNothing was written.\n`,
  });
});

test("on a terminal it asks for sender, model and key", async () => {
  const terminal = openTerminal(folder, ["init"], { OPENAI_API_KEY: "" });
  await answerInit(terminal);
  expect({ code: await terminal.end(), shown: terminal.shown() }).toMatchObject({ code: 0 });
  expect(read(".webhooks/openai-api-key")).toBe("sk-secret-key\n");
  expect(modeOf(".webhooks/openai-api-key")).toBe(0o600);
  expect(read("webhooks.jsonc")).toContain('"apiKey": "${file:.webhooks/openai-api-key}"');
  expect(terminal.shown()).not.toContain("sk-secret-key");
  expect(await webhooks("check")).toMatchObject({ code: 0 });
});

/** The commands below `Next:`. */
function commandsOf(stdout: string): string[] {
  const [, list = ""] = stdout.split("\nNext:\n");
  return list
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/ {2,}/)[0]!);
}

function modeOf(name: string): number {
  return statSync(path.join(folder, name)).mode & 0o777;
}

function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), text);
}

function read(name: string): string {
  return readFileSync(path.join(folder, name), "utf8");
}

function webhooks(...args: string[]): Promise<CliResult> {
  return runWebhooks(folder, ...args);
}
