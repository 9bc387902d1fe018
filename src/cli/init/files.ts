import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { replaceFile } from "../../config/edit/replace-file.ts";
import { readEditorFiles, readTemplate, TYPES } from "../samples/module.ts";
import { EXAMPLE } from "./first-config.ts";

/** The text of the wanted files below the folder of the transforms, by absolute path. */
export function listFiles(folder: string, hasExample: boolean): Map<string, string> {
  const files = { ...readEditorFiles(), ...(hasExample ? readTemplate(EXAMPLE) : {}) };
  return new Map(Object.entries(files).map(([file, text]) => [path.join(folder, file), text]));
}

/** The types belong to this version of the package. */
export function refreshTypes(kept: string[]): string[] {
  const text = readEditorFiles()[TYPES] ?? "";
  const outdated = kept.filter((file) => path.basename(file) === TYPES && readFileSync(file, "utf8") !== text);
  for (const file of outdated) replaceFile(file, text);
  return outdated;
}

/** Keeps the tokens out of version control. Returns the file if it was changed. */
export function ignoreState(configFile: string, stateDir: string): string[] {
  const folder = path.dirname(configFile);
  const state = path.relative(folder, stateDir);
  if (state.startsWith("..") || path.isAbsolute(state)) return [];
  const file = path.join(folder, ".gitignore");
  const text = existsSync(file) ? readFileSync(file, "utf8") : undefined;
  const lines = text?.split(/\r?\n/).map((line) => line.trim().replaceAll(/^\/|\/$/g, "")) ?? [];
  const missing = [state, ...(text === undefined ? ["node_modules"] : [])].filter((name) => !lines.includes(name));
  if (missing.length === 0) return [];
  const start = text === undefined || text === "" || text.endsWith("\n") ? (text ?? "") : `${text}\n`;
  replaceFile(file, `${start}${missing.map((name) => `${name.split(path.sep).join("/")}/\n`).join("")}`, {
    expected: text ?? null,
  });
  return [file];
}
