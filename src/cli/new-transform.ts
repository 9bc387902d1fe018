import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_ROOT } from "../config/package.ts";
import { ConfigError } from "../errors.ts";
import { BUILT_IN_HOOKS } from "../types.ts";
import { locateTransforms, workingFolder } from "./locate.ts";
import { mappingTemplate, transformTemplate } from "./transform-template.ts";

/** What lets an editor complete a transform, with nothing installed. */
const TYPES = "hookline.d.ts";
const COMPILER_OPTIONS = "tsconfig.json";

/** Writes a typed transform with its samples, and what an editor needs beside it. Overwrites nothing of a person's. */
export async function newTransform(given: string, flags: { dir?: string; config?: string }): Promise<void> {
  const name = requireName(given.replace(/\.ts$/, ""));
  const folder = await locateTransforms(flags);
  const files = transformTemplate(name);
  requireFree(folder, Object.keys(files));

  for (const [file, text] of Object.entries(files)) write(path.join(folder, file), text);
  const support = copySupport(folder);
  tell(name, folder, [...Object.keys(files), ...support]);
}

function requireName(name: string): string {
  if (!/^[a-z0-9][a-z0-9_-]*$/i.test(name)) {
    throw new ConfigError([
      { message: `"${name}" is no name for a transform: expected letters, digits, - and _, as in my-hook.` },
    ]);
  }
  if (!BUILT_IN_HOOKS.some((hook) => hook === name)) return name;
  throw new ConfigError([{ message: `The service answers the hook ${name} itself: choose another name.` }]);
}

function requireFree(folder: string, files: string[]): void {
  const taken = files.map((file) => path.join(folder, file)).filter((file) => existsSync(file));
  if (taken.length === 0) return;
  const message = "This file is there already: nothing was written.";
  throw new ConfigError(taken.map((file) => ({ file, message })));
}

/** The types are this version's own and written anew; compiler options are a person's once they are there. */
function copySupport(folder: string): string[] {
  const wanted = existsSync(path.join(folder, COMPILER_OPTIONS)) ? [TYPES] : [TYPES, COMPILER_OPTIONS];
  for (const file of wanted)
    copyFileSync(path.join(PACKAGE_ROOT, "transforms", file), path.join(folder, file));
  return wanted;
}

function write(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function tell(name: string, folder: string, files: string[]): void {
  const shown = path.relative(workingFolder(), folder) || ".";
  const lines = [
    "Written:",
    ...files.map((file) => `  ${path.join(shown, file)}`),
    "",
    "The mapping for hooks.mappings in your configuration:",
    `  ${mappingTemplate(name)}`,
    "",
    "Next, its samples at every save:",
    `  webhooks test ${shown} --watch`,
  ];
  console.log(lines.join("\n"));
}
