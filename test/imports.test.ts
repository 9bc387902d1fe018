import { execFile } from "node:child_process";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const CHECK = path.join(import.meta.dirname, "../.ci/imports.ts");

/** The problems that the check finds in a source tree with these files. Empty: it passes. */
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
  ["core/config/rules.ts", "../../vendors/slack.ts", "core must not import from vendors"],
  ["vendors/slack.ts", "../agents/acp.ts", "vendors must not import from agents"],
  ["service/runtime/build.ts", "../../cli/command.ts", "service must not import from cli"],
  ["core/journal/plan.ts", "../mapping/match.ts", "core/journal must not import values from core/mapping"],
])("src/%s must not import %s", async (file, specifier, problem) => {
  const expected = `src/${file}: ${problem} (${specifier})`;
  expect(await check({ [file]: `import { value } from "${specifier}";` })).toContain(expected);
  expect(await check({ [file]: `const value = await import("${specifier}");` })).toContain(expected);
});

test("a room around the core imports values of its face only", async () => {
  const problem =
    "src/vendors/slack.ts: vendors must not import values from src/core/dispatch/retry.ts: it is not in the face of the core";
  expect(await check({ "vendors/slack.ts": 'import { retry } from "../core/dispatch/retry.ts";' })).toBe(problem);
});

test.each([
  ["core/receive.ts", "operator"],
  ["mcp/open.ts", "service"],
  ["operator/status.ts", "mail"],
  ["vendors/channels.ts", "mail"],
])("src/%s must not import types from %s", async (file, room) => {
  const [from] = file.split("/");
  expect(await check({ [file]: `import type { View } from "../${room}/view.ts";` })).toBe(
    `src/${file}: ${from} must not import types from ${room} (src/${room}/view.ts)`,
  );
});

test("files that import each other are a circle, also by their types", async () => {
  const files = { "core/a.ts": 'import type { B } from "./b.ts";', "core/b.ts": 'import type { A } from "./a.ts";' };
  expect(await check(files)).toBe("circle: src/core/a.ts → src/core/b.ts → src/core/a.ts");
});

test.each([
  ["core", "core/mapping/state.ts", "core/journal/reads/state.ts"],
  ["operator", "operator/trial.ts", "operator/page/playground/trial.tsx"],
  ["a vendor", "vendors/github/comments.ts", "vendors/github/reviews/comments.ts"],
  ["a store", "stores/sqlite/claim.ts", "stores/sqlite/reads/claim.ts"],
])("two files of %s have different names", async (_room, one, other) => {
  const files = [`src/${one}`, `src/${other}`].toSorted().join(", ");
  const { name } = path.parse(one);
  const problem = `${files}: 2 files of a room are named ${name}. Name each after its idea`;
  expect(await check({ [one]: "", [other]: "" })).toBe(problem);
});

test.each([
  ["of different rooms", "core/receive.ts", "service/receive.ts"],
  ["of different vendors", "vendors/github/comments.ts", "vendors/gitlab/comments.ts"],
  ["of both stores", "stores/sqlite/claim.ts", "stores/postgres/claim.ts"],
  ["that list", "core/journal/reads/index.ts", "core/journal/writes/index.ts"],
  ["a file and its test", "core/receive.ts", "core/receive.test.ts"],
])("two files may have the same name: %s", async (_which, one, other) => {
  expect(await check({ [one]: "", [other]: "" })).toBe("");
});

test.each([
  ["core/receive.ts", 'import { commit } from "./journal/commit.ts";'],
  [
    "vendors/slack.ts",
    'import { DriverError } from "../core/errors.ts"; import { toLine } from "../core/shared/text.ts";',
  ],
  ["vendors/slack.ts", 'import type { Mapping } from "../core/mapping/compile.ts";'],
  [
    "service/drivers.ts",
    'import { agents } from "../agents/index.ts"; import { build } from "../core/config/load.ts";',
  ],
])("src/%s may have: %s", async (file, text) => {
  expect(await check({ [file]: text })).toBe("");
});
