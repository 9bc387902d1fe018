import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { checkImports } from "../.ci/imports.ts";

/** The problems that the check finds in a source tree with these files. Empty: it passes. */
function check(files: Record<string, string>): string {
  const folder = mkdtempSync(path.join(tmpdir(), "imports-"));
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, "src", name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const problems = checkImports(folder);
  rmSync(folder, { recursive: true });
  return problems.join("\n");
}

test.each([
  ["core/config/rules.ts", "../../vendors/slack.ts", "core must not import from vendors"],
  ["vendors/slack.ts", "../agents/acp.ts", "vendors must not import from agents"],
  ["service/runtime/build.ts", "../../cli/command.ts", "service must not import from cli"],
  ["core/journal/plan.ts", "../mapping/match.ts", "core/journal must not import values from core/mapping"],
])("src/%s must not import %s", (file, specifier, problem) => {
  const expected = `src/${file}: ${problem} (${specifier})`;
  expect(check({ [file]: `import { value } from "${specifier}";` })).toContain(expected);
  expect(check({ [file]: `const value = await import("${specifier}");` })).toContain(expected);
});

test("a room around the core imports values of its face only", () => {
  const problem =
    "src/vendors/slack.ts: vendors must not import values from src/core/dispatch/retry.ts: it is not in the face of the core";
  expect(check({ "vendors/slack.ts": 'import { retry } from "../core/dispatch/retry.ts";' })).toBe(problem);
});

test.each([
  ["core/receive.ts", "operator"],
  ["mcp/open.ts", "service"],
  ["operator/status.ts", "mail"],
  ["vendors/channels.ts", "mail"],
])("src/%s must not import types from %s", (file, room) => {
  const [from] = file.split("/");
  expect(check({ [file]: `import type { View } from "../${room}/view.ts";` })).toBe(
    `src/${file}: ${from} must not import types from ${room} (src/${room}/view.ts)`,
  );
});

test("files that import each other are a circle, also by their types", () => {
  const files = { "core/a.ts": 'import type { B } from "./b.ts";', "core/b.ts": 'import type { A } from "./a.ts";' };
  expect(check(files)).toBe("circle: src/core/a.ts → src/core/b.ts → src/core/a.ts");
});

test.each([
  ["core", "core/mapping/state.ts", "core/journal/reads/state.ts"],
  ["operator", "operator/trial.ts", "operator/page/playground/trial.tsx"],
  ["a vendor", "vendors/github/comments.ts", "vendors/github/reviews/comments.ts"],
  ["a store", "stores/sqlite/claim.ts", "stores/sqlite/reads/claim.ts"],
])("two files of %s have different names", (_room, one, other) => {
  const files = [`src/${one}`, `src/${other}`].toSorted().join(", ");
  const { name } = path.parse(one);
  const problem = `${files}: 2 files of a room are named ${name}. Name each after its idea`;
  expect(check({ [one]: "", [other]: "" })).toBe(problem);
});

test.each([
  ["of different rooms", "core/receive.ts", "service/receive.ts"],
  ["of different vendors", "vendors/github/comments.ts", "vendors/gitlab/comments.ts"],
  ["of both stores", "stores/sqlite/claim.ts", "stores/postgres/claim.ts"],
  ["that list", "core/journal/reads/index.ts", "core/journal/writes/index.ts"],
  ["a file and its test", "core/receive.ts", "core/receive.test.ts"],
])("two files may have the same name: %s", (_which, one, other) => {
  expect(check({ [one]: "", [other]: "" })).toBe("");
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
])("src/%s may have: %s", (file, text) => {
  expect(check({ [file]: text })).toBe("");
});
