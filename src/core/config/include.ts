import { readdirSync } from "node:fs";
import path from "node:path";
import type { ConfigProblem, PartPlaces } from "../errors.ts";
import { isInstalled, statIfAny } from "../shared/system/files.ts";

/** The files that `include` names, and where more may appear. */
export interface FoundParts extends PartPlaces {
  /** Absolute, in their order, each once. */
  files: string[];
  /** Files that are named, and are not there. */
  missing: string[];
  problems: ConfigProblem[];
  warnings: ConfigProblem[];
}

export interface IncludeOptions {
  /** The file that has the `include`, absolute; undefined for a program's own object. */
  file?: string;
  baseDir: string;
  /** Files that are not written yet count too. */
  unwritten?: ReadonlyMap<string, string>;
}

const ENDINGS = [".json5", ".jsonc", ".json", ".yaml", ".yml"];
const MAX_PARTS = 500;

/** Finds the parts of a configuration. Entries that are not strings are left to its schema. */
export function findParts(include: unknown, options: IncludeOptions): FoundParts {
  const found: FoundParts = { files: [], missing: [], folders: [], isPart: () => false, problems: [], warnings: [] };
  const patterns: Pattern[] = [];
  const files = new Set<string>();
  for (const [index, entry] of (Array.isArray(include) ? include : []).entries()) {
    if (typeof entry !== "string" || entry.trim() === "") continue;
    const key = `include[${index}]`;
    const pattern = toPattern(entry, options.baseDir);
    if (pattern === undefined) {
      const file = path.resolve(options.baseDir, entry);
      const { error, warning } = checkNamed(file, entry, options);
      if (error === undefined && warning === undefined) files.add(file);
      if (error !== undefined) {
        found.problems.push({ key, message: error });
        found.missing.push(file);
      }
      if (warning !== undefined) found.warnings.push({ key, message: warning });
      continue;
    }
    if (isInside(options.baseDir, pattern.folder)) {
      found.problems.push({
        key,
        message: 'A pattern needs a folder for parts alone. Write one such as "teams/*.yaml".',
      });
      continue;
    }
    patterns.push(pattern);
    const matching = listMatching(pattern, options);
    for (const file of matching) files.add(file);
    if (matching.length === 0)
      found.warnings.push({ key, message: "This pattern has no files. Add one, or remove it." });
  }
  if (files.size > MAX_PARTS) {
    const message = `There are more than ${MAX_PARTS} parts. Join some, or narrow a pattern.`;
    found.problems.push({ key: "include", message });
  }
  return {
    ...found,
    files: [...files].slice(0, MAX_PARTS),
    folders: patterns.map(({ folder }) => folder),
    isPart: (file) => patterns.some((pattern) => isMatching(file, pattern, options)),
  };
}

/** Whether the name of a file has the ending of a configuration. */
function hasPartEnding(file: string): boolean {
  return ENDINGS.includes(path.extname(file));
}

interface Pattern {
  /** The folder that its files are in, absolute. */
  folder: string;
  /** For the path in that folder, with `/`. */
  expression: RegExp;
  /** How many folders deep its files can be. */
  depth: number;
}

/** undefined: a file. */
function toPattern(entry: string, baseDir: string): Pattern | undefined {
  const segments = entry.split("/");
  const first = segments.findIndex((segment) => segment.includes("*"));
  if (first === -1) return undefined;
  const rest = segments.slice(first).filter((segment) => segment !== "" && segment !== ".");
  const source = rest.map((segment, index) => toExpression(segment, index === rest.length - 1));
  return {
    folder: path.resolve(baseDir, segments.slice(0, first).join("/") || (first > 0 ? "/" : ".")),
    expression: new RegExp(`^${source.join("")}$`),
    depth: rest.includes("**") ? Infinity : rest.length,
  };
}

/** A name with a leading dot is that of a system or a tool, such as the `..data` of a ConfigMap. */
const NAME = String.raw`(?!\.)[^/]`;

function toExpression(segment: string, isLast: boolean): string {
  if (segment === "**") return isLast ? `(?:${NAME}+/)*${NAME}+` : `(?:${NAME}+/)*`;
  const name = segment.split(/\*+/).map((part) => RegExp.escape(part));
  return String.raw`(?!\.)${name.join("[^/]*")}${isLast ? "" : "/"}`;
}

function checkNamed(
  file: string,
  entry: string,
  { file: own, unwritten }: IncludeOptions,
): { error?: string; warning?: string } {
  if (file === own) return { error: "A configuration cannot include itself." };
  const stats = statIfAny(file);
  if (stats?.isDirectory()) return { error: `This is a folder. Write "${entry.replace(/\/+$/, "")}/*.yaml".` };
  if (!stats && unwritten?.has(file) !== true) return { error: `The file ${file} does not exist.` };
  if (hasPartEnding(file)) return {};
  return { warning: `This file is passed over: the name of a part ends with ${ENDINGS.join(", ")}.` };
}

function isMatching(file: string, { folder, expression }: Pattern, { file: own }: IncludeOptions): boolean {
  if (file === own || !hasPartEnding(file) || isInstalled(path.relative(folder, file))) return false;
  return isInside(file, folder) && expression.test(path.relative(folder, file).split(path.sep).join("/"));
}

function listMatching(pattern: Pattern, options: IncludeOptions): string[] {
  const known = [...listFiles(pattern.folder, pattern.depth), ...(options.unwritten?.keys() ?? [])];
  return [...new Set(known)].filter((file) => isMatching(file, pattern, options)).toSorted();
}

/** The files in a folder and those inside it. With any depth, a link to a folder is not entered: it may lead to a folder around it. */
function listFiles(folder: string, depth: number): string[] {
  if (depth === 0) return [];
  return readEntries(folder).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (entry.name.startsWith(".") || entry.name === "node_modules") return [];
    const isLink = entry.isSymbolicLink();
    const isFolder = isLink ? statIfAny(file)?.isDirectory() === true : entry.isDirectory();
    if (!isFolder) return isLink && !statIfAny(file) ? [] : [file];
    return isLink && depth === Infinity ? [] : listFiles(file, depth - 1);
  });
}

function readEntries(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // A folder that is not there yet, or gone.
    return [];
  }
}

/** True for the folder itself too. */
function isInside(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return !(relative === ".." || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative));
}
