import path from "node:path";
import { ConfigError, type ConfigProblem, messageOf, type PartPlaces } from "../errors.ts";
import { isObject, readPath, toObject, toObjects } from "../shared/json.ts";
import { toChannelName } from "../shared/channel-names.ts";
import { readRegularFile } from "../shared/system/files.ts";
import { findParts } from "./include.ts";
import { type Merged, mergeParts, type PartSource, toList } from "./merge.ts";
import { type Located, parseSource, type Source } from "./parse/source.ts";
import { type References, resolveReferences } from "./references.ts";
import { findForeignReferences } from "./rules/secrets.ts";
import { readSchema } from "./schema/validator.ts";

/** A configuration and its parts as one, before it is checked. */
export interface ReadParts {
  merged: Merged;
  /** By absolute path, the including file first. */
  sources: Map<string, Located>;
  /** With the keys of the whole configuration, or with their places. */
  problems: ConfigProblem[];
  /** References without a value, among values that are in use. */
  unresolved: ConfigProblem[];
  warnings: ConfigProblem[];
  /** The files of references, absolute. */
  files: string[];
  /** Where more parts may appear. */
  parts: PartPlaces;
  /** Absolute, in their order. */
  partFiles: string[];
}

export interface PartsOptions extends References {
  /** The including file, absolute; undefined for a program's own object. */
  file?: string;
  source?: Source;
}

/** Reads the parts that a configuration includes. Throws a `ConfigError` if one of them cannot be read. */
export function readParts(whole: unknown, options: PartsOptions): ReadParts {
  const { file, baseDir, source, unwritten } = options;
  const main = readSource(whole, options);
  const include = toList(readPath(main.value, ["include"]), "include", main);
  const found = findParts(include, { file, baseDir, unwritten });
  const locate = (problem: ConfigProblem): ConfigProblem => ({
    file,
    ...problem,
    ...source?.locate(problem.key ?? ""),
  });
  const parts: ResolvedSource[] = [];
  const sources = new Map(file !== undefined && source ? [[file, source]] : []);
  const unreadable = found.problems.map(locate);
  for (const part of found.files) {
    try {
      const parsed = parseSource(part, unwritten?.get(part) ?? readConfigFile(part));
      sources.set(part, parsed);
      parts.push(readSource(parsed.value ?? {}, { ...options, file: part, baseDir: path.dirname(part) }));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      unreadable.push(...error.problems);
    }
  }
  const all = [main, ...parts];
  const files = all.flatMap((one) => one.files);
  if (unreadable.length > 0) {
    const known = [...found.files, ...found.missing, ...files];
    throw Object.assign(new ConfigError(unreadable, known), { parts: found });
  }
  const merged = mergeParts(main, parts);
  const inUse = (one: ResolvedSource, problems: ConfigProblem[]): ConfigProblem[] =>
    problems
      .map((problem) => ({ ...problem, key: merged.toMerged(one, problem.key ?? "") }))
      .filter(({ key }) => merged.find(key).file === one.file);
  return {
    merged,
    sources,
    problems: [
      ...[...sources.values()].flatMap(({ duplicates }) => duplicates),
      ...all.flatMap((one) => inUse(one, findForeignReferences(one.written))),
      ...parts.flatMap((part) => checkPart(part, sources.get(part.file ?? ""))),
      ...merged.conflicts.map(({ later, earlier }) => {
        const [at, other] = [later, earlier].map((one) => sources.get(one.file ?? "")?.locate(one.key));
        const place = [path.relative(baseDir, earlier.file ?? ""), other?.line, other?.column].join(":");
        return { file: later.file, ...at, message: `${later.key} is also set in ${place}.` };
      }),
    ],
    unresolved: all.flatMap((one) => inUse(one, one.problems)),
    warnings: [...[...sources.values()].flatMap((one) => one.warnings), ...found.warnings.map(locate)],
    files,
    parts: { folders: found.folders, isPart: found.isPart },
    partFiles: found.files,
  };
}

const MAX_CONFIG_BYTES = 8 * 1024 * 1024;

/** The text of a configuration file. Throws a `ConfigError` if it cannot be read. */
export function readConfigFile(file: string): string {
  try {
    return readRegularFile(file, MAX_CONFIG_BYTES).toString("utf8");
  } catch (error) {
    throw new ConfigError([{ file, message: `The file cannot be read: ${messageOf(error)}.` }]);
  }
}

interface ResolvedSource extends PartSource {
  /** With its references. */
  written: unknown;
  problems: ConfigProblem[];
  /** The files of its references, absolute. */
  files: string[];
}

function readSource(whole: unknown, options: PartsOptions): ResolvedSource {
  const written = withoutExtensions(whole);
  const { value, references, problems, files } = resolveReferences(written, options);
  dropEmptySections(value);
  const renamed = renameChannels(value);
  return { file: options.file, baseDir: options.baseDir, written, value, references, renamed, problems, files };
}

/** A part has no include, and ids for its mappings. */
function checkPart({ file, value }: PartSource, source: Source | undefined): ConfigProblem[] {
  const toProblem = (key: string, message: string): ConfigProblem => ({ file, key, message, ...source?.locate(key) });
  if (!isObject(value)) return [toProblem("", "A part must be an object, as a configuration is.")];
  const nested = "A part cannot include others. Name them in the file that includes this one.";
  const mappings = readPath(value, ["hooks", "mappings"]);
  return [
    ...(value["include"] === undefined ? [] : [toProblem("include", nested)]),
    ...(Array.isArray(mappings) ? mappings : []).flatMap((mapping: unknown, index) => {
      const [own] = toObjects([mapping]);
      if (!own || own["id"] !== undefined) return [];
      const message = "A mapping in a part needs an id: state, pauses and spend are kept under it.";
      return [toProblem(`hooks.mappings[${index}]`, message)];
    }),
  ];
}

/** Keys `x-…` at the top are for the author: a place for the anchors of YAML. */
function withoutExtensions(whole: unknown): unknown {
  if (!isObject(whole)) return whole;
  return Object.fromEntries(Object.entries(whole).filter(([key]) => !key.startsWith("x-")));
}

/** In YAML a section is null if all that it holds are comments. `schema`: of the value. Looks at two levels. */
function dropEmptySections(value: unknown, schema?: unknown): void {
  for (const [key, part] of Object.entries(toObject(value))) {
    const own = (): unknown => readPath(schema ?? readSchema("config.base"), ["properties", key]);
    if (part === null && isSection(own()) && isObject(value)) delete value[key];
    else if (!schema && isObject(part) && Object.values(part).includes(null)) dropEmptySections(part, own());
  }
}

/** A list or an object. */
function isSection(schema: unknown): boolean {
  const { type, $ref = "" } = toObject(schema);
  return [type].flat().some((name) => name === "object" || name === "array") || /agent|channels/.test(String($ref));
}

/**
 * Gives the blocks of channels their usual names, and returns the written ones by them. A second block for a channel stays,
 * and is an unknown key.
 */
function renameChannels(value: unknown): Map<string, string> {
  const channels = readPath(value, ["channels"]);
  const renamed = new Map<string, string>();
  if (!isObject(channels)) return renamed;
  for (const [written, block] of Object.entries(channels)) {
    const name = toChannelName(written);
    if (Object.hasOwn(channels, name)) continue;
    channels[name] = block;
    delete channels[written];
    renamed.set(`channels.${name}`, `channels.${written}`);
  }
  return renamed;
}
