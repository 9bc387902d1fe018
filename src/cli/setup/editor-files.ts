import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { orElse, replaceFile } from "../../core/shared/system/files.ts";
import { PACKAGE_ROOT } from "../../core/shared/system/package.ts";
import { editConfig } from "../../service/authoring/edit-config.ts";
import { isPackageInstalled, renderTypes, type TypedConfig, TYPES } from "./module-types.ts";
import { TRANSFORMS } from "./templates.ts";

/** Absolute paths. */
interface Written {
  written: string[];
  /** Files that were there before, as they are. */
  kept: string[];
}

const COMPILER_OPTIONS = "tsconfig.json";

/**
 * Writes what an editor needs into the folder of the transforms: types, which belong to this version and this configuration, and
 * compiler options, which belong to the user if they exist.
 */
export function writeEditorFiles(folder: string, config: TypedConfig, usesPresets = false): Written {
  const types = renderTypes(folder, config);
  const options = path.join(folder, COMPILER_OPTIONS);
  const own = existsSync(options) ? readFileSync(options, "utf8") : undefined;
  const template = readFileSync(path.join(TRANSFORMS, COMPILER_OPTIONS), "utf8");
  const isMapped = !isPackageInstalled(folder) && (usesPresets || needsPresets(types));
  const kept = own ?? (isPackageInstalled(folder) ? addGlobals(options, template) : template);
  return writeTexts({
    [path.join(folder, TYPES)]: types,
    [options]: isMapped ? mapPresetTypes(options, kept) : kept,
  });
}

/** Writes the types alone, if there are compiler options, and the types do not need the place of others. */
export function writeTypes(folder: string, config: TypedConfig): Written {
  const types = renderTypes(folder, config);
  const needsPlace = !isPackageInstalled(folder) && needsPresets(types);
  if (needsPlace || findCompilerOptions(folder, config) === undefined) return writeEditorFiles(folder, config);
  return writeTexts({ [path.join(folder, TYPES)]: types });
}

/** The absolute path of the compiler options that a folder of transforms has, or the project. */
export function findCompilerOptions(folder: string, { baseDir }: TypedConfig): string | undefined {
  return [folder, baseDir].map((dir) => path.join(dir, COMPILER_OPTIONS)).find((file) => existsSync(file));
}

function needsPresets(types: string): boolean {
  return types.includes('"hookline/presets"');
}

function writeTexts(texts: Record<string, string>): Written {
  const written = Object.entries(texts).flatMap(([file, text]) => (replaceIfOther(file, text) ? file : []));
  return { written, kept: Object.keys(texts).filter((file) => !written.includes(file)) };
}

/** Gives whether the file was written. */
export function replaceIfOther(file: string, text: string): boolean {
  if (isCurrent(file, text)) return false;
  replaceFile(file, text);
  return true;
}

export function isCurrent(file: string, text: string): boolean {
  return orElse(undefined, () => readFileSync(file, "utf8")) === text;
}

/** The compiler options with the globals of the sandbox, which are in no file beside the transforms then. */
function addGlobals(file: string, text: string): string {
  return editConfig(file, text, [{ kind: "set", path: ["compilerOptions", "types"], value: ["hookline/globals"] }]);
}

/** The compiler options with the place of the types of this installation, which is not in a `node_modules` above. */
function mapPresetTypes(file: string, text: string): string {
  const types = path.join(PACKAGE_ROOT, "presets/index.d.ts");
  return editConfig(file, text, [
    { kind: "set", path: ["compilerOptions", "paths", "hookline/presets"], value: [types] },
  ]);
}

/** VS Code reads JSON5 as JSON with comments with a setting, and YAML with an extension. Files that exist stay as they are. */
export function writeVscode(folder: string, schema: string): Written {
  const fileMatch = ["json5", "jsonc", "json"].map((extension) => `/webhooks.${extension}`);
  const settings = { "files.associations": { "*.json5": "jsonc" }, "json.schemas": [{ fileMatch, url: schema }] };
  const written: string[] = [];
  const kept: string[] = [];
  for (const [name, value] of Object.entries({ settings, extensions: { recommendations: ["redhat.vscode-yaml"] } })) {
    const file = path.join(folder, `.vscode/${name}.json`);
    (existsSync(file) ? kept : written).push(file);
    if (!existsSync(file)) replaceFile(file, `${JSON.stringify(value, undefined, 2)}\n`);
  }
  return { written, kept };
}
