import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_ROOT } from "../../config/package.ts";

/** The package's own folder of transforms. */
const TRANSFORMS = path.join(PACKAGE_ROOT, "transforms");

/** With these two files an editor completes a transform with nothing installed. */
export const TYPES = "hookline.d.ts";
export const COMPILER_OPTIONS = "tsconfig.json";

/** Files by their name below the folder of the transforms. */
type Files = Record<string, string>;

export function readEditorFiles(): Files {
  return Object.fromEntries(
    [TYPES, COMPILER_OPTIONS].map((file) => [file, readFileSync(path.join(TRANSFORMS, file), "utf8")]),
  );
}

/** The template's own name, in the names of its files and in its samples. */
const TEMPLATE = "template/status";

/** A new transform without a payload to start from: a useful module, two payloads and what they lead to. */
export function readTemplate(name: string): Files {
  const files = globSync(`${TEMPLATE}{.ts,.samples/*}`, { cwd: TRANSFORMS }).toSorted();
  const rename = (text: string): string => text.replaceAll(TEMPLATE, name);
  return Object.fromEntries(
    files.map((file) => [rename(file), rename(readFileSync(path.join(TRANSFORMS, file), "utf8"))]),
  );
}
