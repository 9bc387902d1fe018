import { readFile, realpath, stat } from "node:fs/promises";
import { isBuiltin } from "node:module";
import path from "node:path";
import type { Loader, OnResolveArgs, PartialMessage, Plugin } from "./esbuild.ts";

const OWN_RESOLUTION = Symbol("own resolution");

/**
 * An esbuild plugin that enforces the compile boundary. It checks every import where it is written, so that the error has a
 * line, and every file again when it is read, because glob imports bypass the resolver. Adds each file to `inputs`.
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
        // A module that a package excludes on purpose has no file.
        if (!path.isAbsolute(found.path)) return undefined;
        const { problem } = await checkSource(found.path, root);
        return problem === undefined ? undefined : { errors: [{ text: problem }] };
      });

      build.onLoad({ filter: /.*/, namespace: "file" }, async (args) => {
        const { file, problem } = await checkSource(args.path, root);
        if (problem !== undefined) return { errors: [{ text: problem }] };
        inputs.add(file);
        return { contents: await readFile(file, "utf8"), loader: toLoader(file) };
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

/** A missing file is watched too, because it may be created later. */
function explainMissing(args: OnResolveArgs, inputs: Set<string>): PartialMessage {
  if (args.path.startsWith(".")) {
    inputs.add(path.resolve(args.resolveDir, args.path));
    return { text: `The file "${args.path}" does not exist.` };
  }
  // This comes last because a package may bring or exclude a module of such a name.
  if (isBuiltin(args.path)) return { text: refuseBuiltin(args.path) };
  return {
    text: `The package "${args.path}" is not installed: run "npm install ${args.path}" beside the transform.`,
  };
}

function refuseBuiltin(specifier: string): string {
  return `"${specifier}" is part of Node: a transform has no access to files, network or processes.`;
}

function toLoader(file: string): Loader {
  const extension = path.extname(file);
  if (extension === ".json") return "json";
  return extension.endsWith("ts") ? "ts" : "js";
}

const MAX_SOURCE_BYTES = 1024 * 1024;
const EXTENSIONS = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", ".json"];

/** A file that is allowed in a bundle, or the reason why it is not. */
type CheckedSource = { file: string; problem?: undefined } | { file?: undefined; problem: string };

/**
 * Checks whether a file may be part of a bundle: code or JSON, a regular file of limited size, inside `root` (a real path)
 * or in a `node_modules` in or above it, all after resolving symlinks. esbuild itself would inline any file.
 */
export async function checkSource(file: string, root: string): Promise<CheckedSource> {
  const real = await realpath(file).catch(() => undefined);
  if (real === undefined) return { problem: `The file ${file} does not exist or cannot be read.` };
  if (!isInside(real, root) && !isInstalledAbove(real, root)) {
    return { problem: `${real} is outside ${root}: a transform can only import files inside it.` };
  }
  if (!EXTENSIONS.includes(path.extname(real))) {
    return { problem: `${real} is not code: expected one of ${EXTENSIONS.join(", ")}.` };
  }
  const found = await stat(real);
  // A pipe or a device would block the build forever.
  if (!found.isFile()) return { problem: `${real} is not a regular file.` };
  if (found.size > MAX_SOURCE_BYTES) {
    return { problem: `${real} has ${found.size} bytes; the limit for one file is ${MAX_SOURCE_BYTES}.` };
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
