import type { Command } from "commander";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { editConfig } from "../../config/edit/edit-config.ts";
import { replaceFile } from "../../config/edit/replace-file.ts";
import { parseSource } from "../../config/parse/source.ts";
import { ConfigError } from "../../errors.ts";
import { isObject, readPath } from "../../shared/json.ts";
import { BUILT_IN_HOOKS } from "../../types.ts";
import { CONFIG_HELP } from "../command.ts";
import { locateNewConfig, locateTransforms, readPayload } from "../context.ts";
import { type CliIo, print } from "../io.ts";
import { COMPILER_OPTIONS, readEditorFiles, readTemplate } from "../samples/module.ts";
import { toTypeScript } from "../samples/type-of.ts";

interface NewFlags {
  dir?: string;
  config?: string;
  sample?: string;
  print: boolean;
}

export function addTransform(program: Command, io: CliIo): void {
  program
    .command("transform")
    .description("Write transforms.")
    .command("new")
    .description("Write a typed transform with samples, and add its mapping to the configuration.")
    .argument("<name>", "name of the module and of the hook")
    .option("--sample <file>", "a JSON payload: the first sample, from which the payload's type is derived")
    .option("--print", "print the mapping and leave the configuration as it is", false)
    .option("--dir <folder>", "folder of the transforms (default: hooks.transformsDir, else ./transforms)")
    .option("--config <file>", CONFIG_HELP)
    .action((name: string, flags: NewFlags) => newTransform(name, flags, io));
}

/** Writes the transform, its samples, and what an editor needs beside them. Never overwrites a file of the user. */
async function newTransform(given: string, flags: NewFlags, io: CliIo): Promise<void> {
  const name = requireName(given.replace(/\.ts$/, ""));
  const folder = await locateTransforms(flags, io);
  const files = flags.sample === undefined ? readTemplate(name) : toModule(name, await readPayload(flags.sample, io));
  requireFree(folder, Object.keys(files));

  for (const [file, text] of Object.entries(files)) write(path.join(folder, file), text);
  const support = writeEditorFiles(folder);
  const shown = path.relative(io.cwd, folder) || ".";
  const target = flags.dir === undefined ? name : shown;
  print(
    io,
    "Written:",
    ...[...Object.keys(files), ...support].map((file) => `  ${path.join(shown, file)}`),
    "",
    ...addMapping(name, flags, io),
    "",
    ...(flags.sample === undefined
      ? []
      : ["Record what it gives for the sample:", `  webhooks test ${target} --update`]),
    "Run its samples at every save:",
    `  webhooks test ${target} --watch`,
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
function writeEditorFiles(folder: string): string[] {
  const wanted = Object.entries(readEditorFiles()).filter(
    ([file]) => file !== COMPILER_OPTIONS || !existsSync(path.join(folder, file)),
  );
  for (const [file, text] of wanted) write(path.join(folder, file), text);
  return wanted.map(([file]) => file);
}

function write(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** A new transform for a payload: a module that passes it on, and the payload as its sample. */
function toModule(name: string, payload: unknown): Record<string, string> {
  const lines = [
    'import type { Transform, TransformResult } from "hookline";',
    "",
    "/** What the sample holds. The body comes from outside: any field may be missing. */",
    `type Payload = ${toTypeScript(payload)};`,
    "",
    "const transform: Transform<Payload> = ({ payload }): TransformResult => {",
    "  // Return null to skip a request: it is answered with 204.",
    `  return { message: \`${name}: \${JSON.stringify(payload, undefined, 2)}\` };`,
    "};",
    "export default transform;",
  ];
  return {
    [`${name}.ts`]: `${lines.join("\n")}\n`,
    [`${name}.samples/first.json`]: `${JSON.stringify(payload, undefined, 2)}\n`,
  };
}

/** Adds the mapping to the configuration. Returns what to tell: where it is, or what to write there. */
function addMapping(name: string, flags: NewFlags, io: CliIo): string[] {
  const file = locateNewConfig(flags.config, io);
  const instructions = "Find the likely cause and say what to do.";
  const mapping = { id: name, match: { path: name }, transform: { module: `${name}.ts` }, instructions };
  const shown = `  { match: { path: "${name}" }, transform: { module: "${name}.ts" }, instructions: "${instructions}" }`;
  if (flags.print || flags.dir !== undefined || !existsSync(file)) {
    return ["The mapping for hooks.mappings in your configuration:", shown];
  }
  const text = readFileSync(file, "utf8");
  const listed = readPath(parseSource(file, text).value, ["hooks", "mappings"]);
  if (Array.isArray(listed) && listed.some((one) => isObject(one) && readPath(one, ["match", "path"]) === name)) {
    return [`${path.relative(io.cwd, file)} has a mapping of this hook already.`];
  }
  const change = { kind: "append", path: ["hooks", "mappings"], value: mapping } as const;
  replaceFile(file, editConfig(file, text, [change]), { expected: text });
  return [`Added to hooks.mappings in ${path.relative(io.cwd, file)}:`, shown];
}
