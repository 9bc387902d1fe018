import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import path from "node:path";
import type { ConfigProblem } from "../errors.ts";
import { type BuildOptions, type Message, runEsbuild, showLine } from "./esbuild.ts";
import type { CompileResult, TransformSpec } from "./runner.ts";
import { createSourceGate, judgeSource } from "./source-gate.ts";

/** Makes one script of a transform and everything it imports. Never rejects for what the author wrote: that is in the result. */
export async function compileTransform(spec: TransformSpec): Promise<CompileResult> {
  const inputs = new Set([spec.file]);
  const fail = (problems: CompileResult["problems"]): CompileResult => ({ problems, inputs: [...inputs] });
  const root = await realpath(spec.root).catch(() => undefined);
  if (root === undefined) return fail([{ message: `The folder ${spec.root} does not exist.`, file: spec.file }]);
  const entry = await judgeSource(spec.file, root);
  if (entry.problem !== undefined) return fail([{ message: entry.problem, file: spec.file }]);

  const { result, errors } = await runEsbuild({
    ...BUILD_OPTIONS,
    entryPoints: [entry.file],
    absWorkingDir: root,
    outfile: path.join(root, "transform.js"),
    plugins: [createSourceGate(root, inputs)],
  });
  if (result === undefined) return fail(errors.map((error) => toProblem(error, root)));
  const stray = await findStray(Object.keys(result.metafile.inputs), root);
  if (stray !== undefined) return fail([{ message: stray, file: spec.file }]);

  const text = (suffix: string): string => result.outputFiles.find((file) => file.path.endsWith(suffix))!.text;
  // A first line for the shell has no place inside of a function.
  const code = text(".js").replace(/^#!/, "//").replace(EXPORT_COPY, "module.exports = $1;");
  return {
    bundle: { spec, id: identify(code, spec.export), code, sourceMap: text(".js.map"), inputs: [...inputs] },
    problems: [],
  };
}

const BUILD_OPTIONS: BuildOptions = {
  format: "cjs",
  // Packages that have a build without Node's modules offer it under this name.
  platform: "browser",
  target: "es2024",
  sourcemap: "external",
  charset: "utf8",
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"', global: "globalThis" },
  // Neither a tsconfig somewhere above nor NODE_PATH may decide what an import means.
  tsconfigRaw: "{}",
  nodePaths: [],
};

/**
 * esbuild makes a copy of the exports for a `require` that nobody does here. It would be made again at each call, and take
 * a fifth of it.
 */
const EXPORT_COPY = /^module\.exports = __toCommonJS\((\w+)\);$/m;

/** The first file of a finished bundle that had no right to be in it: what the gate has not seen, this does. */
async function findStray(inputs: string[], root: string): Promise<string | undefined> {
  for (const input of inputs) {
    // `(disabled):…` stands for a module that its package leaves out here; it has no file.
    if (input.startsWith("(disabled):")) continue;
    const { problem } = await judgeSource(path.resolve(root, input), root);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function identify(code: string, exportName: string | undefined): string {
  return createHash("sha256")
    .update(JSON.stringify([exportName ?? null, code]))
    .digest("hex");
}

/** An esbuild error as the operator is shown it. */
function toProblem({ text, location }: Message, root: string): ConfigProblem {
  if (!location) return { message: text };
  const { line, column, lineText } = location;
  return {
    message: text,
    file: path.resolve(root, location.file),
    line,
    column: column + 1,
    excerpt: showLine(lineText, line, column + 1),
  };
}
