import type { Command } from "commander";
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_ROOT } from "../../config/package.ts";
import { ConfigError } from "../../errors.ts";
import { BUILT_IN_HOOKS } from "../../types.ts";
import { CONFIG_HELP } from "../command.ts";
import { locateTransforms } from "../context.ts";
import { type CliIo, print } from "../io.ts";

interface NewFlags {
  dir?: string;
  config?: string;
}

export function addTransform(program: Command, io: CliIo): void {
  program
    .command("transform")
    .description("Write transforms.")
    .command("new")
    .description("Write a typed transform, with sample payloads and the actions expected of them.")
    .argument("<name>", "name of the module and of the hook")
    .option("--dir <folder>", "folder of the transforms (default: hooks.transformsDir, else ./transforms)")
    .option("--config <file>", CONFIG_HELP)
    .action((name: string, flags: NewFlags) => newTransform(name, flags, io));
}

/** With these two files an editor completes a transform with nothing installed. */
const TYPES = "hookline.d.ts";
const COMPILER_OPTIONS = "tsconfig.json";
/** The package's own folder of transforms. */
const TRANSFORMS = path.join(PACKAGE_ROOT, "transforms");

/** Writes the transform, its samples, and what an editor needs beside them. Never overwrites a file of the user. */
async function newTransform(given: string, flags: NewFlags, io: CliIo): Promise<void> {
  const name = requireName(given.replace(/\.ts$/, ""));
  const folder = await locateTransforms(flags, io);
  const files = readTemplate(name);
  requireFree(folder, Object.keys(files));

  for (const [file, text] of Object.entries(files)) write(path.join(folder, file), text);
  const support = copySupport(folder);
  const shown = path.relative(io.cwd, folder) || ".";
  print(
    io,
    "Written:",
    ...[...Object.keys(files), ...support].map((file) => `  ${path.join(shown, file)}`),
    "",
    "The mapping for hooks.mappings in your configuration:",
    `  ${toMapping(name)}`,
    "",
    "Next, run its samples at every save:",
    `  webhooks test ${shown} --watch`,
  );
}

function requireName(name: string): string {
  const message = !/^[a-z0-9][a-z0-9_-]*$/i.test(name)
    ? `"${name}" is not a valid name for a transform: expected letters, digits, - and _, as in my-hook.`
    : BUILT_IN_HOOKS.some((hook) => hook === name)
      ? `The service itself handles the hook "${name}": choose another name.`
      : undefined;
  if (message === undefined) return name;
  throw new ConfigError([{ message }]);
}

function requireFree(folder: string, files: string[]): void {
  const taken = files.map((file) => path.join(folder, file)).filter((file) => existsSync(file));
  if (taken.length === 0) return;
  throw new ConfigError(taken.map((file) => ({ file, message: "This file exists already: nothing was written." })));
}

/** The types belong to this version and are always written; existing compiler options belong to the user. */
function copySupport(folder: string): string[] {
  const wanted = existsSync(path.join(folder, COMPILER_OPTIONS)) ? [TYPES] : [TYPES, COMPILER_OPTIONS];
  for (const file of wanted) copyFileSync(path.join(TRANSFORMS, file), path.join(folder, file));
  return wanted;
}

function write(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** The template's own name, in the names of its files and in its samples. */
const TEMPLATE = "template/status";

/** The files of a new transform by name: a useful module, two payloads and what they lead to. */
function readTemplate(name: string): Record<string, string> {
  const files = globSync(`${TEMPLATE}{.ts,.samples/*}`, { cwd: TRANSFORMS }).toSorted();
  const rename = (text: string): string => text.replaceAll(TEMPLATE, name);
  return Object.fromEntries(
    files.map((file) => [rename(file), rename(readFileSync(path.join(TRANSFORMS, file), "utf8"))]),
  );
}

function toMapping(name: string): string {
  const instructions = "Find the likely cause and say what to do.";
  return `{ match: { path: "${name}" }, transform: { module: "${name}.ts" }, instructions: "${instructions}" }`;
}
