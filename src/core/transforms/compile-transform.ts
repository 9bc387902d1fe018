import { hash } from "node:crypto";
import path from "node:path";
import type { ConfigProblem } from "../errors.ts";
import { cutText } from "../shared/text/text.ts";
import { type Bundled, bundle, type Output } from "./bundle.ts";
import { type CodeCache, type CompiledCode, currentStep, sumSizes } from "./code-cache.ts";
import { type BuildError, type CommonOptions, showLine, transformText } from "./esbuild.ts";
import { packText } from "./packed-text.ts";
import type { CompileResult, TransformSpec } from "./runner.ts";
import { isInside, toRealPath } from "../shared/system/files.ts";
import { createSourceBoundary, isCode, type SourceBoundary, toLoader } from "./source-boundary.ts";
import { readIfReadable, withoutMapComment } from "./source-gate.ts";
import { explainSyntax, findOldDecorators } from "./unsupported.ts";

export interface CompileOptions {
  /** Texts by names below the folder, instead of what is in these files, which need not exist. */
  drafts?: Readonly<Record<string, string>>;
  /** Results of earlier builds. */
  cache?: CodeCache;
}

/** Bundles a transform with everything it imports into one script. Problems in the author's code are in the result. */
export async function compileTransform(
  spec: TransformSpec,
  { drafts: named, cache }: CompileOptions = {},
): Promise<CompileResult> {
  const root = toRealPath(spec.root);
  const fail = (problems: ConfigProblem[], inputs = [spec.file], manifests: string[] = []): CompileResult => ({
    problems,
    inputs,
    manifests,
  });
  if (root === undefined) {
    const message = `${spec.root}, the folder of ${path.basename(spec.file)}, does not exist.`;
    return fail([{ message, file: spec.file }]);
  }
  const drafts = named && toDrafts(root, named);
  const boundary = createSourceBoundary(root, spec.transformRoots, drafts);
  const drafted = path.join(root, path.relative(spec.root, spec.file));
  const { file, problem } = boundary.check(drafts?.has(drafted) ? drafted : spec.file);
  if (file === undefined) return fail([{ message: problem, file: spec.file }]);

  const [since, began] = [Date.now(), currentStep()];
  const source = drafts?.get(file) ?? readIfReadable(file);
  const name = JSON.stringify([root, spec.transformRoots, file]);
  const toResult = (made: CompiledCode): CompileResult => ({
    bundle: {
      spec,
      id: hash("sha256", JSON.stringify([spec.export ?? null, made.hash])),
      get code() {
        return made.code;
      },
      get sourceMap() {
        return made.sourceMap;
      },
      inputs: made.inputs.includes(spec.file) ? made.inputs : [spec.file, ...made.inputs],
      manifests: made.manifests,
      bytes: made.bytes,
      packages: made.packages,
      part: made.part,
    },
    problems: [],
  });
  const known = source === undefined || drafts ? undefined : cache?.find(name, source, began);
  if (known) return toResult(known);

  const { compiled, uses, inputs, manifests, errors } =
    source !== undefined && importsNothing(source)
      ? await compileAlone(file, root, source)
      : await bundle({ file, drafts, boundary, options: OPTIONS, cache, began });
  if (compiled === undefined) return fail(toProblems(errors, spec.file, boundary), [spec.file, ...inputs], manifests);
  const ready = await finish(compiled);
  if (source !== undefined && !drafts) cache?.keep(name, source, ready, { uses, since, began });
  return toResult(ready);
}

/** By the real path of each file, or where it will be. A name that leads out of the folder is left out. */
function toDrafts(root: string, named: Readonly<Record<string, string>>): Map<string, string> {
  const files = Object.entries(named).map(([name, text]): [string, string] => {
    const file = path.join(root, name);
    return [toRealPath(file) ?? file, text];
  });
  return new Map(files.filter(([file]) => isInside(file, root) && isCode(file)));
}

/** An ECMAScript module without these words, also in comments and texts, imports nothing. */
function importsNothing(source: string): boolean {
  return /\bexport\b/.test(source) && !/\b(?:import|require)\b|(?<!\.)\bfrom\b/.test(source);
}

async function compileAlone(file: string, root: string, source: string): Promise<Bundled> {
  const text = withoutMapComment(source);
  const { result, errors } = await transformText(text, {
    ...OPTIONS,
    loader: toLoader(file),
    sourcefile: path.relative(root, file),
    treeShaking: true,
  });
  if (result === undefined) {
    const told = await Promise.all(errors.map((error) => explainSyntax(error, text, OPTIONS)));
    return { inputs: [file], manifests: [], errors: told };
  }
  const code = Buffer.from(result.code);
  const old = findOldDecorators(code, [file], root);
  if (old.length > 0) return { inputs: [file], manifests: [], errors: old };
  const compiled = { code, sourceMap: result.map, inputs: [file], manifests: [], packages: [] };
  return { compiled, uses: [], errors: [] };
}

async function finish({ code, sourceMap, inputs, manifests, packages, part }: Output): Promise<CompiledCode> {
  const script = toScript(code);
  const [readCode, readSourceMap] = await Promise.all([packText(script), packText(Buffer.from(sourceMap))]);
  const own = hash("sha256", script);
  return {
    get code() {
      return readCode();
    },
    get sourceMap() {
      return readSourceMap();
    },
    hash: part ? hash("sha256", `${part.hash}:${own}`) : own,
    inputs: [...new Set([...inputs, ...(part?.inputs ?? [])])],
    manifests: [...new Set([...manifests, ...(part?.manifests ?? [])])],
    bytes: script.length + (part?.bytes ?? 0),
    packages: part ? sumSizes([...packages, ...part.packages]) : packages,
    part,
  };
}

/** A shebang line would be a syntax error inside a function. The replaced bytes are ASCII, so no character is decoded. */
function toScript(code: Buffer): Buffer {
  const script = code.toString("latin1").replace(/^#!/, "//").replace(EXPORT_COPY, "module.exports = $1;");
  return Buffer.from(script, "latin1");
}

export const OPTIONS = {
  format: "cjs",
  // Packages offer a build without Node's modules under this name.
  platform: "browser",
  target: "es2024",
  sourcemap: "external",
  charset: "utf8",
  legalComments: "none",
  define: {
    "process.env.NODE_ENV": '"production"',
    global: "globalThis",
    self: "globalThis",
    // The realm's own is frozen. A value of the call takes what packages assign.
    "Error.stackTraceLimit": "globalThis.stackTraceLimit",
  },
  // No tsconfig in a parent folder may change what an import means, and no NODE_PATH.
  tsconfigRaw: "{}",
} satisfies CommonOptions;

/** esbuild copies the exports for a `require` that does not exist here. At each call that would take a fifth of the time. */
const EXPORT_COPY = /^module\.exports = __toCommonJS\((\w+)\);$/m;

/** An import of thousands of files can have as many errors. */
const MAX_PROBLEMS = 20;
const MAX_MESSAGE_LENGTH = 2000;

function toProblems(errors: BuildError[], file: string, boundary: SourceBoundary): ConfigProblem[] {
  const isCut = errors.length > MAX_PROBLEMS;
  const shown = errors.slice(0, isCut ? MAX_PROBLEMS - 1 : MAX_PROBLEMS);
  const problems = shown.map((error) => toProblem(error, file, boundary));
  const message = `${errors.length - shown.length} more problems are not shown.`;
  return isCut ? [...problems, { message, file }] : problems;
}

function toProblem({ text, location }: BuildError, entry: string, boundary: SourceBoundary): ConfigProblem {
  const message = cutText(text, MAX_MESSAGE_LENGTH);
  if (!location) return { message, file: entry };
  const file = path.resolve(boundary.root, location.file);
  // The text and the line quote the file, which may be a `package.json` outside.
  if (boundary.check(file).problem !== undefined) return { message: `${file} cannot be used.`, file };
  const { line, column, lineText } = location;
  return { message, file, line, column: column + 1, excerpt: showLine(lineText, line, column + 1) };
}
