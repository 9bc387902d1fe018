import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { COMMAND_NAMES } from "./command-list.ts";
import { commandName, nameCommands, wrap, wrapSteps, wrapWords } from "./io.ts";

const src = path.join(import.meta.dirname, "..");

test.each([
  [{}, "webhooks"],
  [{ npm_command: "exec" }, "npx hookline"],
  [{ npm_lifecycle_event: "webhooks" }, "npm run -s webhooks --"],
  [{ npm_lifecycle_event: "demo" }, "npm run -s webhooks --"],
])("a text names commands as the person calls them: %j", (env, name) => {
  expect(commandName({ env })).toBe(name);
  const text =
    "See `npx hookline events list`, or npx hookline tail. \u001b[2mnpx hookline test ci\u001b[22m `npx hookline --help`.";
  expect(nameCommands({ env }, text)).toBe(text.replaceAll("npx hookline", name));
  for (const other of ["delete the webhooks of it", "npx hookline is its name", "/usr/bin/npx hookline serve"]) {
    expect(nameCommands({ env }, other)).toBe(other);
  }
});

test("every text names the program as it works everywhere, which the terminal replaces", () => {
  const named = new RegExp(`(?<![\\w/.-])webhooks (?:${COMMAND_NAMES.join("|")})\\b`);
  const patterns = ["src/**/*.{ts,tsx}", "docs/**/*.{md,yaml,sh,service}", "README.md", "schemas/config.base.json"];
  const files = globSync(patterns, { cwd: path.join(src, "..") }).filter((file) => !file.endsWith(".test.ts"));
  expect(files.length).toBeGreaterThan(500);
  const found = files.flatMap((file) => {
    const lines = readFileSync(path.join(src, "..", file), "utf8").split("\n");
    return lines
      .filter((line) => named.test(line) && !/^\s*(?:\/\*|\*|\/\/)/.test(line))
      .map((line) => `${file}: ${line}`);
  });
  expect(found).toEqual([]);
});

test("every text that names a command with a value has it from toCommand", () => {
  const direct = new RegExp(
    `(?:webhooks|npx hookline) (?:${COMMAND_NAMES.join("|")})\\b[^"'\`]*\\$\\{|\\$\\{commandName\\(\\w+\\)\\}[^"'\`]*\\$\\{`,
  );
  const files = globSync("**/*.ts", { cwd: src }).filter((file) => !file.endsWith(".test.ts"));
  expect(files.length).toBeGreaterThan(400);
  const found = files.flatMap((file) =>
    readFileSync(path.join(src, file), "utf8")
      .split("\n")
      .flatMap((line, index) => (direct.test(line) ? [`${file}:${index + 1}`] : [])),
  );
  expect(found).toEqual([]);
});

test("wrap breaks between pieces, and only for a terminal", () => {
  const pieces = ["one", "\u001b[1mtwo\u001b[22m", "three"];
  const to = (columns: number | undefined) => wrap({ stdout: { columns } as never }, pieces, " · ", "  ");
  expect(to(undefined)).toEqual([pieces.join(" · ")]);
  expect(to(9)).toEqual(["one · \u001b[1mtwo\u001b[22m", "  three"]);
  expect(to(3)).toEqual(["one", "  \u001b[1mtwo\u001b[22m", "  three"]);
});

test("a line is not broken between a number and the unit of its time", () => {
  const io = { stdout: { columns: 15 } as never, env: {} };
  expect(wrapWords(io, "reloaded ci.ts  705 ms", "")).toEqual(["reloaded ci.ts ", "705 ms"]);
});

test("numbered steps are broken between words, and commands are not", () => {
  const io = { stdout: { columns: 15 } as never, env: {} };
  expect(wrapSteps(io, "1. Open the settings\n   curl -s http://127.0.0.1")).toEqual([
    "1. Open the",
    "   settings",
    "   curl -s http://127.0.0.1",
  ]);
});
