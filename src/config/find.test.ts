import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ConfigError } from "../errors.ts";
import { findConfigFile } from "./find.ts";

function folderWith(...names: string[]): string {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-find-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of names) writeFileSync(path.join(folder, name), "{}");
  return folder;
}

test("--config comes before WEBHOOKS_CONFIG, which comes before the usual names", () => {
  const cwd = folderWith("a.json5", "b.yaml", "webhooks.json5");
  const env = { WEBHOOKS_CONFIG: "b.yaml" };
  expect(findConfigFile({ flag: "a.json5", env, cwd })).toBe(path.join(cwd, "a.json5"));
  expect(findConfigFile({ env, cwd })).toBe(path.join(cwd, "b.yaml"));
  expect(findConfigFile({ env: { WEBHOOKS_CONFIG: "" }, cwd })).toBe(path.join(cwd, "webhooks.json5"));
});

test.each(["webhooks.json5", "webhooks.yaml", "webhooks.yml", "webhooks.json"])("%s is found", (name) => {
  const cwd = folderWith(name);
  expect(findConfigFile({ env: {}, cwd })).toBe(path.join(cwd, name));
});

test("what is named must be there, and be a file", () => {
  const cwd = folderWith("webhooks.json5");
  mkdirSync(path.join(cwd, "folder"));
  expect(() => findConfigFile({ flag: "absent.yaml", env: {}, cwd })).toThrow(/absent\.yaml.*--config/);
  expect(() => findConfigFile({ env: { WEBHOOKS_CONFIG: "folder" }, cwd })).toThrow(
    /folder.*WEBHOOKS_CONFIG/,
  );
});

test("with none, the error says what was looked for and where", () => {
  const cwd = folderWith();
  expect(() => findConfigFile({ env: {}, cwd })).toThrow(ConfigError);
  expect(() => findConfigFile({ env: {}, cwd })).toThrow(
    /webhooks\.json5, .*webhooks\.json in .*find-.*--config/,
  );
});
