import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { adviseInstall, toCommand, toPackageName, toWord } from "./command.ts";

const HOSTILE = [
  "$(id)",
  "`id`",
  "a;id",
  "a b",
  "a'b",
  'a"b',
  "a\nid",
  "a\u202Eb",
  "--yes",
  "-rf",
  "~",
  "*",
  "",
  "a\u001b[2Jb",
  "<x",
  "a|b",
];

test.each(HOSTILE)("%j is one word of a command, and no option", (value) => {
  const command = toCommand("hooks pause", value);
  expect(command).toMatch(/^npx hookline hooks pause [^`\p{C}]*$/u);
  const words = command.slice("npx hookline hooks pause ".length);
  const print = "for word; do printf '%s\\n' \"$word\"; done";
  const shown = execFileSync("sh", ["-c", `set -- ${words}; ${print}`], { encoding: "utf8" });
  const printable = value.replaceAll(/[`\p{C}]/gu, "?");
  expect(shown).toBe(value.startsWith("-") ? `--\n${value}\n` : `${printable}\n`);
});

test("a plain value stands as it is", () => {
  expect(toCommand("tools call", "tickets.show")).toBe("npx hookline tools call tickets.show");
  expect(toWord("./presets/acme")).toBe("./presets/acme");
});

test.each([
  ["zod", "zod"],
  ["date-fns/nope", "date-fns"],
  ["@acme/jwt/sub/path.js", "@acme/jwt"],
  ["JSONStream", "JSONStream"],
  ["@/lib/x", undefined],
  ["~/lib/x", undefined],
  ["#x", undefined],
  ["./x", undefined],
  ["..", undefined],
  ["-g", undefined],
  ["--registry=http:", undefined],
  ["git+ssh:", undefined],
  ["a b", undefined],
  ["a;id", undefined],
  ["$(id)", undefined],
  ["", undefined],
  ["@acme", undefined],
  ["x".repeat(215), undefined],
])("the package of %j", (specifier, name) => {
  expect(toPackageName(specifier)).toBe(name);
  if (name !== specifier) expect(() => adviseInstall(specifier)).toThrow("not the name of a package");
  else expect(adviseInstall(specifier)).toBe(`run "npm install ${specifier}" beside the transform`);
});
