import { execFile } from "node:child_process";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const CHECK = path.join(import.meta.dirname, "../.ci/imports.ts");

/** What the check says about a source tree with these files. Empty: it passes. */
async function check(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "imports-"));
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, "src", name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  return promisify(execFile)(process.execPath, [CHECK, folder]).then(
    () => "",
    ({ stderr }: { stderr: string }) => stderr.trim(),
  );
}

test.each([
  ["config/rules.ts", "../channels/slack.ts", "config must not import values from channels"],
  ["journal/journal.ts", "../agents/acp.ts", "journal must not import values from agents"],
  ["mapping/resolve.ts", "../drivers.ts", "mapping must not import values from drivers.ts"],
  ["runtime/build.ts", "../drivers.ts", "runtime must not import values from drivers.ts"],
  ["runtime/build.ts", "../agents/index.ts", "only src/drivers.ts imports the list of drivers"],
  ["mail/watch/service.ts", "../sources.ts", "only src/drivers.ts imports the list of drivers"],
])("src/%s must not import %s", async (file, specifier, problem) => {
  expect(await check({ [file]: `import { value } from "${specifier}";` })).toBe(
    `src/${file}: ${problem} (${specifier})`,
  );
  expect(await check({ [file]: `const value = await import("${specifier}");` })).toContain(problem);
});

test.each([
  ["config/rules.ts", 'import type { Slack } from "../channels/slack.ts";'],
  ["channels/http.ts", 'import { slack } from "./slack.ts";'],
  ["drivers.ts", 'import { agents } from "./agents/index.ts"; import { createConfigReader } from "./config/load.ts";'],
  ["service/parts.ts", 'import { readConfig } from "../drivers.ts";'],
])("src/%s may have: %s", async (file, text) => {
  expect(await check({ [file]: text })).toBe("");
});
