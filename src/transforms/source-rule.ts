import { realpath, stat } from "node:fs/promises";
import path from "node:path";

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
  return (
    relative !== "" &&
    !relative.startsWith(`..${path.sep}`) &&
    relative !== ".." &&
    !path.isAbsolute(relative)
  );
}

function isInstalledAbove(file: string, root: string): boolean {
  const [holder, ...rest] = file.split(`${path.sep}node_modules${path.sep}`);
  return rest.length > 0 && (root === holder || isInside(root, holder || path.sep));
}
