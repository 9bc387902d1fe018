import { readFile, realpath, stat } from "node:fs/promises";
import { isBuiltin } from "node:module";
import path from "node:path";
import type { Loader, OnResolveArgs, PartialMessage, Plugin } from "./esbuild.ts";

const OWN_RESOLUTION = Symbol("own resolution");

/**
 * An esbuild plugin that holds the compile boundary: every import is judged where it is written, so that the error has its
 * line, and every file again where it is read, because glob imports come to no resolver. Adds each file to `inputs`.
 */
export function createSourceGate(root: string, inputs: Set<string>): Plugin {
  return {
    name: "source-gate",
    setup(build) {
      build.onResolve({ filter: /.*/ }, async (args) => {
        if (args.pluginData === OWN_RESOLUTION || args.kind === "entry-point") return undefined;
        const refusal = refuseSpecifier(args);
        if (refusal !== undefined) return { errors: [{ text: refusal }] };
        const { importer, kind, resolveDir } = args;
        const found = await build.resolve(args.path, {
          importer,
          kind,
          resolveDir,
          pluginData: OWN_RESOLUTION,
        });
        if (found.errors.length > 0) return { errors: [explainMissing(args, inputs)] };
        // What a package leaves out on purpose has no file.
        if (!path.isAbsolute(found.path)) return undefined;
        const { problem } = await judgeSource(found.path, root);
        return problem === undefined ? undefined : { errors: [{ text: problem }] };
      });

      build.onLoad({ filter: /.*/, namespace: "file" }, async (args) => {
        const verdict = await judgeSource(args.path, root);
        if (verdict.problem !== undefined) return { errors: [{ text: verdict.problem }] };
        inputs.add(verdict.file);
        return { contents: await readFile(verdict.file, "utf8"), loader: toLoader(verdict.file) };
      });
    },
  };
}

function refuseSpecifier({ path: specifier, with: attributes }: OnResolveArgs): string | undefined {
  if (Object.keys(attributes).length > 0) return "Import attributes are not supported in a transform.";
  if (specifier.startsWith("node:")) return refuseBuiltin(specifier);
  if (/^[a-z][a-z0-9+.-]*:/i.test(specifier)) return `A transform cannot import the URL "${specifier}".`;
  if (path.isAbsolute(specifier)) return `A transform cannot import the absolute path "${specifier}".`;
  return undefined;
}

/** A file that is missing today is watched too: it may be there tomorrow. */
function explainMissing(args: OnResolveArgs, inputs: Set<string>): PartialMessage {
  if (args.path.startsWith(".")) {
    inputs.add(path.resolve(args.resolveDir, args.path));
    return { text: `The file "${args.path}" does not exist.` };
  }
  // Only now: a package may bring its own module under such a name, or leave it out.
  if (isBuiltin(args.path)) return { text: refuseBuiltin(args.path) };
  return {
    text: `The package "${args.path}" is not installed: run "npm install ${args.path}" beside the transform.`,
  };
}

function refuseBuiltin(specifier: string): string {
  return `"${specifier}" is a part of Node: a transform sees no files, network or processes.`;
}

function toLoader(file: string): Loader {
  const extension = path.extname(file);
  if (extension === ".json") return "json";
  return extension.endsWith("ts") ? "ts" : "js";
}

const MAX_SOURCE_BYTES = 1024 * 1024;
const EXTENSIONS = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", ".json"];

/** A file that may be read into a bundle, or why it may not. */
export type SourceVerdict = { file: string; problem?: undefined } | { file?: undefined; problem: string };

/**
 * Says whether a file may become part of a bundle: code or JSON, a regular file of bounded size, inside `root` (a real
 * path) or in a `node_modules` in or above it, all after symlinks. esbuild by itself inlines whatever an import names.
 */
export async function judgeSource(file: string, root: string): Promise<SourceVerdict> {
  const real = await realpath(file).catch(() => undefined);
  if (real === undefined) return { problem: `The file ${file} does not exist or cannot be read.` };
  if (!isInside(real, root) && !isInstalledAbove(real, root)) {
    return { problem: `${real} is outside of ${root}: a transform can only be made of files inside it.` };
  }
  if (!EXTENSIONS.includes(path.extname(real))) {
    return { problem: `${real} is no code: expected one of ${EXTENSIONS.join(", ")}.` };
  }
  const { size, isFile } = await stat(real).then((found) => ({ size: found.size, isFile: found.isFile() }));
  // A pipe or a device would block the build for good.
  if (!isFile) return { problem: `${real} is not a regular file.` };
  if (size > MAX_SOURCE_BYTES) {
    return { problem: `${real} has ${size} bytes, over the limit of ${MAX_SOURCE_BYTES} for one file.` };
  }
  return { file: real };
}

function isInside(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return relative !== "" && !relative.startsWith(`..${path.sep}`) && relative !== ".." && !path.isAbsolute(relative);
}

function isInstalledAbove(file: string, root: string): boolean {
  const [holder, ...rest] = file.split(`${path.sep}node_modules${path.sep}`);
  return rest.length > 0 && (root === holder || isInside(root, holder || path.sep));
}
