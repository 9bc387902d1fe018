/** The edges of the package: what it exports, what is in it, and that what was built runs. */
import { execFile, execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as source from "../src/index.ts";
import { type CliResult, run as runIn } from "./support/cli.ts";
import { HOOK_TOKEN } from "./support/service.ts";

const root = path.join(import.meta.dirname, "..");
const run = promisify(execFile);
const folder = mkdtempSync(path.join(tmpdir(), "hookline-package-"));

beforeAll(() => run(process.execPath, [path.join(root, ".ci/build.ts")]));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a program imports these names, from the built package too", async () => {
  const names = [
    "ConfigError",
    "DriverError",
    "HookError",
    "MailError",
    "createHookline",
    "defineConfig",
    "definePlugin",
  ];
  expect(Object.keys(source).toSorted()).toEqual(names);
  const built: object = await import(path.join(root, "dist/index.js"));
  expect(Object.keys(built).toSorted()).toEqual(names);
});

test("the built command runs a transform in the sandbox", async () => {
  writeFileSync(
    path.join(folder, "t.ts"),
    "export default ({ payload }: any) => ({ message: `n is ${payload.n}` });\n",
  );
  writeFileSync(path.join(folder, "payload.json"), '{ "n": 7 }');
  const mappings = [{ match: { path: "t" }, transform: { module: "t.ts" } }];
  const hooks = { enabled: true, token: HOOK_TOKEN, transformsDir: ".", mappings };
  writeFileSync(path.join(folder, "webhooks.json"), JSON.stringify({ hooks }));
  const { INIT_CWD: _, ...env } = process.env;
  const main = path.join(root, "dist/cli/webhooks.js");
  const { stdout } = await run(process.execPath, [main, "try", "t", "payload.json"], { cwd: folder, env });
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, actions: [{ message: "n is 7" }] });
});

describe("a Node that is too old", () => {
  const main = path.join(root, "dist/cli/webhooks.js");
  const { engines } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const oldest = Number(engines.node.replace(">=", ""));
  const refusal = (version: string): CliResult => ({
    code: 1,
    stdout: "",
    stderr: `Hookline needs Node.js ${oldest} or newer; this is v${version}. Try \`npm i node@${oldest}\`.\n`,
  });

  test("is told so", async () => {
    const version = `${oldest - 1}.9.0`;
    const old = `Object.defineProperty(process, "versions", { value: { node: "${version}" } })`;
    const args = ["--import", `data:text/javascript,${encodeURIComponent(old)}`, main, "--help"];
    expect(await runIn(folder, process.execPath, args)).toEqual(refusal(version));
  });

  const found = findNodes().find(({ version }) => Number.parseInt(version, 10) < oldest);
  test.skipIf(!found)("fails at nothing before that", async () => {
    const { file = "", version = "" } = found ?? {};
    expect(await runIn(folder, file, [main, "--help"])).toEqual(refusal(version));
  });
});

test("the package holds what it needs, and no tests", async () => {
  const { stdout } = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root });
  const [{ files }] = JSON.parse(stdout);
  const paths: string[] = files.map((file: { path: string }) => file.path);
  expect(paths).toEqual(
    expect.arrayContaining([
      "README.md",
      "LICENSE",
      "dist/cli/webhooks.js",
      "dist/index.d.ts",
      "dist/contracts/index.d.ts",
      "dist/transforms/child/main.js",
      "presets/mail/preset.json",
      "schemas/config.json",
    ]),
  );
  expect(paths.filter((name) => /\.test\.|^(src|test|\.ci)\//.test(name))).toEqual([]);
});

describe("a plugin's own tests, with the package as it is published", () => {
  const home = path.join(folder, "pigeon");
  beforeAll(() => installPackage(home), 60_000);

  test("a right plugin passes the contracts", async () => {
    const { code, stdout } = await runTests(home, "right.test.js");
    expect(failuresIn(stdout)).toEqual([]);
    expect(stdout).toMatch(/^# pass [1-9]\d*$/m);
    expect(code).toBe(0);
  });

  test("a wrong one does not", async () => {
    const { code, stdout } = await runTests(home, "wrong.test.js");
    expect(failuresIn(stdout)).toEqual([
      "an unknown recipient is a permanent error",
      "a refusal is a permanent error",
      "remote channel contract: wrong pigeon",
      "replies to a heartbeat turn",
      "agent contract: wrong parrot",
    ]);
    expect(code).toBe(1);
  });
});

/** Each Node that the machine finds. */
function findNodes(): { file: string; version: string }[] {
  const files = (process.env["PATH"] ?? "").split(path.delimiter).map((place) => path.join(place, "node"));
  return files
    .filter((file) => existsSync(file))
    .map((file) => ({
      file,
      version: execFileSync(file, ["-p", "process.versions.node"]).toString().trim(),
    }));
}

/** Puts the plugin and the packed package, which finds its libraries in the checkout, into a folder. */
async function installPackage(home: string): Promise<void> {
  cpSync(path.join(import.meta.dirname, "fixtures/plugin"), home, { recursive: true });
  const installed = path.join(home, "node_modules/hookline");
  mkdirSync(installed, { recursive: true });
  const options = ["--json", "--ignore-scripts", "--pack-destination", home];
  const { stdout } = await run("npm", ["pack", ...options], { cwd: root });
  const [{ filename }] = JSON.parse(stdout);
  await run("tar", ["-xzf", path.join(home, filename), "--strip-components=1", "-C", installed]);
  symlinkSync(path.join(root, "node_modules"), path.join(installed, "node_modules"));
}

function runTests(home: string, file: string): Promise<CliResult> {
  return runIn(home, process.execPath, ["--test", "--test-reporter=tap", file]);
}

/** The names of what failed in a TAP report, an inner one before its suite. */
function failuresIn(report: string): string[] {
  return Array.from(report.matchAll(/^ *not ok \d+ - (.*)$/gm), ([, name = ""]) => name);
}
