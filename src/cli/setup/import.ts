import type { Command } from "commander";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { addComments, type Change, editConfig } from "../../service/authoring/edit-config.ts";
import { planBasics, toFileReference, writePlan } from "../../service/authoring/plan.ts";
import { readTarget } from "../../service/authoring/target.ts";
import { convertOpenClaw } from "../openclaw/convert.ts";
import { parseSource } from "../../core/config/parse/source.ts";
import { ConfigError } from "../../core/errors.ts";
import { replaceFile } from "../../core/shared/system/files.ts";
import { readPath } from "../../core/shared/json.ts";
import { compileTransform } from "../../core/transforms/compile-transform.ts";
import { createSourceBoundary } from "../../core/transforms/source-boundary.ts";
import { isInside, toRealPath } from "../../core/shared/system/files.ts";
import { readIfReadable } from "../../core/transforms/source-gate.ts";
import { addConfigOptions, type ConfigFlags } from "../command.ts";
import { locateNewConfig, readInput, tryRuntime } from "../context.ts";
import { type CliIo, listFiles, print, printJson } from "../io.ts";

type ImportFlags = ConfigFlags & { print: boolean };

export function addImport(program: Command, io: CliIo): void {
  const command = program.command("import").description("Convert the configuration of another gateway.");
  const help = "the file to write (default: $WEBHOOKS_CONFIG, else webhooks.json5 here)";
  addConfigOptions(command.command("openclaw"), "print one JSON object", help)
    .description("Convert the hooks of OpenClaw, with a comment at each place that needs a decision.")
    .argument("[file]", "its configuration (default: $OPENCLAW_CONFIG_PATH, else ~/.openclaw/openclaw.json)")
    .option("--print", "show the configuration and write nothing", false)
    .action((file: string | undefined, flags: ImportFlags) => importOpenClaw(file, flags, io));
}

/** Never overwrites a file. Literal secrets move into files for the user alone. */
async function importOpenClaw(named: string | undefined, flags: ImportFlags, io: CliIo): Promise<void> {
  const usual = path.join(io.env["HOME"] ?? homedir(), ".openclaw", "openclaw.json");
  const from = path.resolve(io.cwd, named ?? io.env["OPENCLAW_CONFIG_PATH"] ?? usual);
  const file = locateNewConfig(flags.config, io);
  if (existsSync(file) && !flags.print) {
    throw new ConfigError([{ file, message: "This file exists already: name another one with --config." }]);
  }
  const written = parseSource(from, (await readInput(from, io)).toString("utf8")).value;
  const target = { ...readTarget(file, io.env), text: undefined, written: {}, files: [] };
  const { config, decisions, changes, secretFiles: given } = convertOpenClaw(written, target);
  const transforms = await readOpenClawTransforms(written, from, path.join(path.dirname(file), "transforms"));
  decisions.push(...transforms.decisions);

  const basicFiles = new Map<string, string>();
  const changesOf = (block: string, fields: object): Change[] =>
    Object.entries(fields).map(([key, value]) => ({ kind: "set", path: [block, key], value }));
  const plain = editConfig(file, "", [
    ...planBasics(target, basicFiles),
    ...Object.entries(config).flatMap(([block, fields]) => changesOf(block, fields)),
  ]);
  const isUsed = ([secret]: [string, string]): boolean => plain.includes(toFileReference(secret, path.dirname(file)));
  const secretFiles = new Map([...basicFiles, ...given].filter(isUsed));
  if (!flags.print) {
    writePlan({ file, before: undefined, after: plain, secretFiles, newFiles: transforms.files });
    const { problems } = await tryRuntime(file, io);
    decisions.push(
      ...problems.map(({ key = "", message }): [string, string] => [key, `\`npx hookline check\`: ${message}`]),
    );
  }
  const text = addComments(file, plain, decisions);
  if (!flags.print) replaceFile(file, text, { expected: plain });

  const files = flags.print ? [] : [file, ...transforms.files.keys(), ...secretFiles.keys()];
  const open = decisions.map(([key, sentence]) => `${key}: ${sentence}`);
  if (flags.json)
    return printJson(io, { ok: true, from, files, decisions: open, changes, ...(flags.print && { text }) });
  if (flags.print) return print(io, text.trimEnd());
  const list = (items: string[]): string[] => items.map((item) => `  ${item}`);
  print(io, "Written:", ...listFiles(io, files));
  print(io, "To decide, also in comments of the file:", ...list(open), "What changes:", ...list(changes));
}

/**
 * The transforms of an OpenClaw configuration `from` (a file), with what they import beside them, as files of the folder `to`;
 * and for each what it uses that the sandbox lacks, by key of the mapping.
 */
async function readOpenClawTransforms(
  written: unknown,
  from: string,
  to: string,
): Promise<{ files: Map<string, string>; decisions: [string, string][] }> {
  const files = new Map<string, string>();
  const decisions: [string, string][] = [];
  const { transformsDir = "", mappings } = Object(readPath(written, ["hooks"]));
  const base = path.join(path.dirname(from), "hooks", "transforms");
  const folder = path.resolve(base, String(transformsDir));
  const root = toRealPath(folder) ?? folder;
  const realBase = toRealPath(base) ?? base;
  const boundary = createSourceBoundary(root);
  // OpenClaw has the same rule. The configuration may be somebody else's.
  if (root !== realBase && !isInside(root, realBase)) {
    const sentence = `is outside ${base}, so no transform was read: copy the modules into ${to} yourself.`;
    return { files, decisions: [["hooks.transformsDir", sentence]] };
  }
  for (const [index, mapping] of (Array.isArray(mappings) ? mappings : []).entries()) {
    const module = readPath(mapping, ["transform", "module"]);
    if (typeof module !== "string") continue;
    const spec = { file: path.resolve(root, module), root, timeoutMs: 1000, memoryMb: 64, secrets: {} };
    const compiled = await compileTransform({ ...spec, isolation: "request" });
    const inputs = (compiled.bundle ?? compiled).inputs.flatMap((input) => boundary.check(input).file ?? []);
    const own = inputs.filter((input) => isInside(input, root) && !input.split(path.sep).includes("node_modules"));
    const sources = own.map(
      (input) => [path.join(to, path.relative(root, input)), readIfReadable(input) ?? ""] as const,
    );
    for (const [name, source] of sources) files.set(name, source);
    const lacking = [
      ...compiled.problems.map(({ message }) => message.replace(/\.$/, "")),
      ...findLacking(compiled.bundle?.code ?? sources.map(([, source]) => source).join("\n")),
      ...(own.length < inputs.length ? ["packages: install them beside the configuration"] : []),
    ];
    const sentence = `${module} uses what the sandbox does not have: ${lacking.join("; ")}.`;
    if (lacking.length > 0) decisions.push([`hooks.mappings[${index}].transform`, sentence]);
  }
  return { files, decisions };
}

/** Globals of Node and the web that a transform does not have. */
const MISSING_GLOBALS =
  /(?<![\w$.])(fetch|XMLHttpRequest|WebSocket|process|Buffer|require|setTimeout|setInterval|setImmediate|performance|__dirname|__filename)(?=\s*[.([])/g;

/** Uses of OpenClaw's input and result of a transform, and the replacement here. */
const OPENCLAW: [RegExp, string][] = [
  [/\bctx\.url\b|\(\s*\{[^{}()]*\burl\b[^{}()]*\}/, "url of the input: use path and query"],
  [/\bagentId\s*[:,}]/, "agentId of the result: set model"],
  [
    /\bsessionKeySource\s*[:,}]/,
    "sessionKeySource of the result: set sessionPrefix on the mapping to what the keys begin with",
  ],
  [/\bsessionMode\s*[:,}]/, "sessionMode of the result: a session keeps its history"],
];

/** Features that code for OpenClaw uses and the sandbox lacks, in a few words each. May name more than there are. */
export function findLacking(code: string): string[] {
  const globals = Array.from(code.matchAll(MISSING_GLOBALS), ([name]) => name);
  return [...new Set(globals), ...OPENCLAW.filter(([use]) => use.test(code)).map(([, what]) => what)];
}
