import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ConfigError } from "../errors.ts";
import { readEnvFile, setInEnvFile, withEnvFile } from "./env-file.ts";

let file: string;
beforeEach(() => {
  file = path.join(mkdtempSync(path.join(tmpdir(), "hookline-env-")), ".env");
});
afterEach(() => rmSync(path.dirname(file), { recursive: true }));

test("the real environment wins over the file", () => {
  writeFileSync(file, "A=file\nexport B='two words' # why\nC=\n");
  expect(withEnvFile({ A: "real", D: undefined, PATH: "/bin" }, file)).toEqual({
    A: "real",
    B: "two words",
    C: "",
    PATH: "/bin",
  });
});

test("a variable is added or replaced, and other lines and comments stay", () => {
  setInEnvFile(file, "A", "1");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  writeFileSync(file, "# keys\nA=1 # old\n  export B = x\nAB=3");
  setInEnvFile(file, "A", "whsec_a+b/c=");
  setInEnvFile(file, "B", "with # and $& spaces");
  setInEnvFile(file, "C", "it's");
  expect(readFileSync(file, "utf8")).toBe(`# keys\nA=whsec_a+b/c=\nB='with # and $& spaces'\nAB=3\nC="it's"\n`);
  expect(readEnvFile(file)).toEqual({ A: "whsec_a+b/c=", B: "with # and $& spaces", AB: "3", C: "it's" });
});

test("a byte order mark is no part of the first name", () => {
  writeFileSync(file, "\uFEFFA=1\nB=2\n");
  expect(readEnvFile(file)).toEqual({ A: "1", B: "2" });
});

test("an empty value takes nothing of the next line, also after export, and can be set", () => {
  writeFileSync(file, "A= \r\nB=2\r\nexport C=\r\nexport D= \t\nE=5\n");
  expect(readEnvFile(file)).toEqual({ A: "", B: "2", C: "", D: "", E: "5" });
  setInEnvFile(file, "C", "3");
  expect(readEnvFile(file)).toEqual({ A: "", B: "2", C: "3", D: "", E: "5" });
});

test("what cannot be set without a change of something else is refused", () => {
  const text = 'KEY="-----\nA=1\n-----"\n';
  writeFileSync(file, text);
  expect(() => setInEnvFile(file, "A", "2")).toThrow(ConfigError);
  expect(readFileSync(file, "utf8")).toBe(text);
  expect(() => readEnvFile(path.dirname(file))).toThrow(ConfigError);
});
