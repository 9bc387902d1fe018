import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import type { ConfigProblem } from "../errors.ts";
import { readRegularFile, replaceFile } from "../shared/files.ts";
import { isObject, parseObject } from "../shared/json.ts";
import { packageVersion } from "../shared/package.ts";
import { type BuildError, type CommonOptions, type Metafile, runEsbuild, showLine, transformText } from "./esbuild.ts";
import type { CompileResult, TransformSpec } from "./runner.ts";
import {
  checkSource,
  createSourceGate,
  readIfReadable,
  toLoader,
  toRealPath,
  withoutMapComment,
} from "./source-gate.ts";

/**
 * Bundles a transform with everything it imports into one script. Problems in the author's code are in the result. `draft`:
 * a text for the module that is not in its file yet. `cache`: what earlier builds made.
 */
export async function compileTransform(
  spec: TransformSpec,
  { draft, cache }: { draft?: string; cache?: CodeCache } = {},
): Promise<CompileResult> {
  const inputs = new Set([spec.file]);
  const fail = (problems: CompileResult["problems"]): CompileResult => ({ problems, inputs: [...inputs] });
  const root = toRealPath(spec.root);
  if (root === undefined) {
    const message = `${spec.root}, the folder of ${path.basename(spec.file)}, does not exist.`;
    return fail([{ message, file: spec.file }]);
  }
  const entry = checkSource(spec.file, root);
  if (entry.problem !== undefined) return fail([{ message: entry.problem, file: spec.file }]);

  inputs.add(entry.file);
  const name = path.relative(root, entry.file);
  const source = draft ?? readIfReadable(entry.file);
  const toResult = (compiled: CompiledCode): CompileResult => ({
    bundle: { spec, id: identify(compiled.code, spec.export), ...compiled, inputs: [...inputs] },
    problems: [],
  });
  const known = source === undefined ? undefined : cache?.find(name, source);
  if (known) return toResult(known);

  if (source !== undefined && importsNothing(source)) {
    const { result, errors } = await compileAlone(name, source);
    if (result === undefined) return fail(errors.map((error) => toProblem(error, root)));
    const compiled = toCompiled(result.code, result.map);
    cache?.keep(name, source, compiled);
    return toResult(compiled);
  }
  const { result, errors } = await runEsbuild({
    ...OPTIONS,
    entryPoints: [entry.file],
    absWorkingDir: root,
    nodePaths: [],
    outfile: path.join(root, "transform.js"),
    plugins: [createSourceGate(root, inputs, { [entry.file]: source })],
  });
  if (result === undefined) return fail(errors.map((error) => toProblem(error, root)));
  const stray = findStray(Object.keys(result.metafile.inputs), root);
  if (stray !== undefined) return fail([{ message: stray, file: spec.file }]);

  const text = (suffix: string): string => result.outputFiles.find((file) => file.path.endsWith(suffix))!.text;
  const compiled = toCompiled(text(".js"), text(".js.map"));
  if (source !== undefined && isAlone(result.metafile)) cache?.keep(name, source, compiled);
  return toResult(compiled);
}

/** An ECMAScript module without these words, also in comments and texts, imports nothing. */
function importsNothing(source: string): boolean {
  return /\bexport\b/.test(source) && !/\b(?:import|require)\b|(?<!\.)\bfrom\b/.test(source);
}

function compileAlone(name: string, source: string): ReturnType<typeof transformText> {
  return transformText(withoutMapComment(source), {
    ...OPTIONS,
    loader: toLoader(name),
    sourcefile: name,
    treeShaking: true,
  });
}

/** A shebang line would be a syntax error inside a function. */
function toCompiled(code: string, sourceMap: string): CompiledCode {
  return { code: code.replace(/^#!/, "//").replace(EXPORT_COPY, "module.exports = $1;"), sourceMap };
}

/** It imports nothing, and no `package.json` says what kind of module it is. */
function isAlone({ inputs }: Metafile): boolean {
  const [input, ...others] = Object.values(inputs);
  return others.length === 0 && input?.imports.length === 0 && input.format === "esm";
}

const OPTIONS = {
  format: "cjs",
  // Packages offer a build without Node's modules under this name.
  platform: "browser",
  target: "es2024",
  sourcemap: "external",
  charset: "utf8",
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"', global: "globalThis" },
  // No tsconfig in a parent folder may change what an import means, and no NODE_PATH.
  tsconfigRaw: "{}",
} satisfies CommonOptions;

/** esbuild copies the exports for a `require` that does not exist here. At each call that would take a fifth of the time. */
const EXPORT_COPY = /^module\.exports = __toCommonJS\((\w+)\);$/m;

/** The first file of a finished bundle that is not allowed in it: finds what the source gate was not asked about. */
function findStray(inputs: string[], root: string): string | undefined {
  for (const input of inputs) {
    // `(disabled):…` is a module that its package excludes from this platform; it has no file.
    if (input.startsWith("(disabled):")) continue;
    const { problem } = checkSource(path.resolve(root, input), root);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function identify(code: string, exportName: string | undefined): string {
  return createHash("sha256")
    .update(JSON.stringify([exportName ?? null, code]))
    .digest("hex");
}

function toProblem({ text, location }: BuildError, root: string): ConfigProblem {
  if (!location) return { message: text };
  const file = path.resolve(root, location.file);
  // The text and the line quote the file, which may be a `package.json` outside.
  if (checkSource(file, root).problem !== undefined) return { message: `${file} cannot be used.`, file };
  const { line, column, lineText } = location;
  return { message: text, file, line, column: column + 1, excerpt: showLine(lineText, line, column + 1) };
}

/** What a module was compiled to. */
interface CompiledCode {
  code: string;
  sourceMap: string;
}

/**
 * Keeps what modules were compiled to, from one build to the next and from one start to the next. Only for modules that import
 * nothing, since they depend on nothing but their text.
 */
export interface CodeCache {
  /** `name`: the file as error messages and source maps name it. */
  find(name: string, text: string): CompiledCode | undefined;
  keep(name: string, text: string, compiled: CompiledCode): void;
  /** Writes the file, if something in it is new or was not asked for since the last call. */
  save(): void;
}

/** More than the code of a thousand modules. */
const MAX_BYTES = 64 * 1024 * 1024;

/** `file`: for the owner alone, as the journal. Without one, nothing outlives the process. */
export function createCodeCache(file?: string): CodeCache {
  const compilers = `${packageVersion()} ${esbuildVersion()}`;
  let known = file === undefined ? new Map<string, CompiledCode>() : readEntries(file);
  let used = new Map<string, CompiledCode>();
  let isNew = false;

  return {
    find(name, text) {
      const key = toKey(name, text);
      const compiled = known.get(key) ?? used.get(key);
      if (compiled) used.set(key, compiled);
      return compiled;
    },
    keep(name, text, compiled) {
      used.set(toKey(name, text), compiled);
      isNew = true;
    },
    save() {
      const isChanged = isNew || used.size !== known.size;
      known = used;
      used = new Map();
      isNew = false;
      if (file === undefined || !isChanged) return;
      try {
        replaceFile(file, JSON.stringify(Object.fromEntries(known)), { mode: 0o600 });
      } catch {
        // Without it, the next start takes longer.
      }
    },
  };

  function toKey(name: string, text: string): string {
    return createHash("sha256")
      .update(JSON.stringify([compilers, name, text]))
      .digest("hex");
  }
}

/** Empty if there is no file, or if it is damaged. */
function readEntries(file: string): Map<string, CompiledCode> {
  try {
    return new Map(Object.entries(parseObject(readRegularFile(file, MAX_BYTES).toString("utf8"))).filter(isEntry));
  } catch {
    return new Map();
  }
}

function isEntry(entry: [string, unknown]): entry is [string, CompiledCode] {
  const [, value] = entry;
  return isObject(value) && typeof value["code"] === "string" && typeof value["sourceMap"] === "string";
}

function esbuildVersion(): string {
  const file = createRequire(import.meta.url).resolve("esbuild/package.json");
  return JSON.parse(readFileSync(file, "utf8")).version;
}
