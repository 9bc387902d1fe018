/** The edges of the package: what it exports, what is in it, and that what was built runs. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as source from "../src/index.ts";
import { HOOK_TOKEN } from "./support/service.ts";

const root = path.join(import.meta.dirname, "..");
const run = promisify(execFile);
const folder = mkdtempSync(path.join(tmpdir(), "hookline-package-"));

beforeAll(() => run(process.execPath, [path.join(root, ".ci/build.ts")]), 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a program imports these names, from the built package too", async () => {
  const names = ["ConfigError", "DriverError", "HookError", "createHookline", "defineConfig", "definePlugin"];
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
  const main = path.join(root, "dist/cli/main.js");
  const { stdout } = await run(process.execPath, [main, "try", "t", "payload.json"], { cwd: folder, env });
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, actions: [{ message: "n is 7" }] });
});

test("the package holds what it needs, and no tests", async () => {
  const { stdout } = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root });
  const [{ files }] = JSON.parse(stdout);
  const paths: string[] = files.map((file: { path: string }) => file.path);
  expect(paths).toEqual(
    expect.arrayContaining([
      "README.md",
      "LICENSE",
      "dist/cli/main.js",
      "dist/index.d.ts",
      "dist/transforms/sandbox/child.js",
      "presets/mail/preset.json",
      "schemas/config.json",
    ]),
  );
  expect(paths.filter((name) => /\.test\.|^(src|test|\.ci)\//.test(name))).toEqual([]);
});
