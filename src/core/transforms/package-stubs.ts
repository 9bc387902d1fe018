import { hash } from "node:crypto";
import path from "node:path";
import { isInside, isInstalled } from "../shared/system/files.ts";
import { type ModuleKind, readModuleKind } from "./esbuild.ts";
import { PACKAGES } from "./sandbox/protocol.ts";
import { isCode, toLoader } from "./source-boundary.ts";

// A module and its packages are built apart: the packages are the same in many modules, and after most saves. A build of
// modules has a stub in place of each file of a package that they import, which is a module of the same kind. The code that
// comes of it shows what has to be exported by the packages' own build: an object of functions, one for each stub.

/** Imports of a stub: the exports but the default, and the default, as `value`. */
const EXPORTS = "hookline:package/";
const DEFAULT = "hookline:default/";

/** Texts of the packages' build: one for each list of packages, and one for each file in it. */
const LIST = "hookline:packages/";
const FILE = "hookline:file/";

/** The namespace of these texts. */
export const VIRTUAL = "virtual";

/** Whether a build's name of a file is that of such a text. */
export function isVirtual(name: string): boolean {
  return name.startsWith(`${VIRTUAL}:`);
}

export const isOfStub = (specifier: string): boolean => specifier.startsWith(EXPORTS) || specifier.startsWith(DEFAULT);

export interface Stub extends ModuleKind {
  id: string;
  /** A real path. */
  file: string;
}

/** Whether a file is code of a package: it is installed, or in a linked folder outside. Data is in the module's own part. */
export function isOfPackage(file: string, root: string): boolean {
  return isCode(file) && toLoader(file) !== "json" && (!isInside(file, root) || isInstalled(path.relative(root, file)));
}

/** The text in place of a package's file; undefined if that does not compile, which the build will say. */
export async function writeStub(
  text: string,
  file: string,
  { root, stubs }: { root: string; stubs: Map<string, Stub> },
): Promise<string | undefined> {
  const found = await readModuleKind(text, toLoader(file));
  if (!found) return undefined;
  const id = `p${hash("sha256", path.relative(root, file)).slice(0, 12)}`;
  stubs.set(id, { id, file, ...found });
  if (found.format === "cjs") return `module.exports = require("${EXPORTS}${id}");`;
  if (found.format === undefined) return `import "${EXPORTS}${id}";`;
  const byDefault = found.hasDefault ? ` export { value as default } from "${DEFAULT}${id}";` : "";
  return `export * from "${EXPORTS}${id}";${byDefault}`;
}

/** A file of a package, and what a module uses of it. */
export interface UsedFile extends Stub {
  /** The names of its exports; undefined: all of them. */
  names: string[] | undefined;
}

/** Imports of stubs as esbuild writes them. */
const REQUIRE = new RegExp(String.raw`require\("(${EXPORTS}|${DEFAULT})(\w+)"\)`, "g");

/** Gives what a module's code uses of packages, and the code with calls in place of its stubs' imports. */
export function findUsedFiles(code: string, stubs: ReadonlyMap<string, Stub>): { code: string; used: UsedFile[] } {
  const ids = new Set(Array.from(code.matchAll(REQUIRE), ([, , id]) => id!));
  const used = [...ids].flatMap((id): UsedFile[] => {
    const stub = stubs.get(id);
    return stub ? [{ ...stub, names: stub.format === "esm" ? findNames(code, id) : undefined }] : [];
  });
  const files = new Map(used.map((file) => [file.id, file]));
  const replaced = code.replace(REQUIRE, (text, what: string, id: string) => {
    const file = files.get(id);
    if (!file) return text;
    if (what === EXPORTS) return `${PACKAGES}.${id}().named`;
    return usesDefault(file) ? `${PACKAGES}.${id}().byDefault` : "{}";
  });
  return { code: replaced, used };
}

function usesDefault({ hasDefault, names }: UsedFile): boolean {
  return hasDefault && (names === undefined || names.includes("default"));
}

/** The names of a stub's exports in the code of its module; undefined if its namespace is used as a whole. */
function findNames(code: string, id: string): string[] | undefined {
  const [, namespace] = new RegExp(String.raw`__reExport\w*\(([\w$]+), require\("${EXPORTS}${id}"\)`).exec(code) ?? [];
  if (namespace === undefined) return undefined;
  const names = new Set<string>();
  for (const [, isMade, name] of code.matchAll(toUse(namespace))) {
    if (isMade) continue;
    if (name === undefined) return undefined;
    names.add(name);
  }
  const [, holder] = new RegExp(String.raw`([\w$]+) = require\("${DEFAULT}${id}"\)`).exec(code) ?? [];
  // The namespace itself has the default once.
  if (holder !== undefined && Array.from(code.matchAll(toUse(holder))).filter(([, , name]) => name).length > 1) {
    names.add("default");
  }
  return [...names].toSorted();
}

/** Matches a variable where it is made, and where it is used, with the name of the property that is read at once. */
function toUse(variable: string): RegExp {
  const name = RegExp.escape(variable);
  return new RegExp(
    String.raw`(var |__export\w*\(|__reExport\w*\()?(?<![\w$.])${name}(?![\w$])(?:\.([\w$]+)(?![\w$\u0080-\uffff]))?`,
    "g",
  );
}

/** A list of packages as its build needs it: the name of its entry, and all texts by their names. */
export interface PackageList {
  entry: string;
  texts: ReadonlyMap<string, string>;
}

/**
 * Files of `first` are evaluated at once, one after the other; the others when their module reaches their import, since code
 * of the author comes before them. Evaluated at once, code is smaller and faster.
 */
export function writeList(used: UsedFile[], first: readonly string[], root: string): PackageList {
  const order = (file: UsedFile): number => (first.includes(file.file) ? first.indexOf(file.file) : first.length);
  const texts = new Map<string, string>();
  const lines = used
    .toSorted((one, other) => order(one) - order(other) || (one.id < other.id ? -1 : 1))
    .map((file) => {
      const text = writeFile(file, root);
      const name = `${FILE}${hash("sha256", text).slice(0, 16)}`;
      texts.set(name, text);
      const { id } = file;
      return first.includes(file.file)
        ? `import * as own_${id} from "${name}";\nexport const ${id} = () => own_${id};\n`
        : `export const ${id} = () => require("${name}");\n`;
    });
  const text = lines.join("");
  const entry = `${LIST}${hash("sha256", text).slice(0, 16)}`;
  return { entry, texts: texts.set(entry, text) };
}

function writeFile(file: UsedFile, root: string): string {
  const from = JSON.stringify(`./${path.relative(root, file.file).replaceAll(path.sep, "/")}`);
  if (file.format === "cjs") return `export const named = require(${from});\n`;
  if (file.format === undefined) return `import ${from};\nexport const named = {};\n`;
  // Getters, because an export can change.
  const toGetter = (name: string, of = name): string => `get ${name}() { return own.${of}; }`;
  const getters = file.names?.filter((name) => name !== "default").map((name) => toGetter(name));
  const named = getters ? `export const named = { ${getters.join(", ")} };\n` : "export { own as named };\n";
  const byDefault = usesDefault(file) ? `export const byDefault = { ${toGetter("value", "default")} };\n` : "";
  return `import * as own from ${from};\n${named}${byDefault}`;
}
