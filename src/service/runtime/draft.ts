import path from "node:path";
import { createCheck, readSchema } from "../../core/config/schema/validator.ts";
import type { MappingInput } from "../../core/config/schema/generated.ts";
import { parseSource } from "../../core/config/parse/source.ts";
import { toConfigProblem } from "../../core/config/schema/problems.ts";
import { isBuiltIn, locatePreset } from "../../core/config/presets/file.ts";
import { loadPresets } from "../../core/config/presets/load-presets.ts";
import { withScheduleHook } from "../../core/config/resolve.ts";
import type { MappingSource, PresetUse } from "../../core/config/resolved-config.ts";
import { ConfigError, type ConfigProblem, HookError } from "../../core/errors.ts";
import type { CompiledMapping } from "../../core/mapping/compile.ts";
import { createMappingIndex, type MappingIndex } from "../../core/mapping/mapping-index.ts";
import type { DraftChange, DraftHooks } from "../../operator/diff.ts";
import type { Draft } from "../../operator/trial.ts";
import { readOwn, toObject, toText } from "../../core/shared/json.ts";
import { ANY_CREDENTIAL } from "../../core/types.ts";
import type { TransformRunner } from "../../core/transforms/runner.ts";
import { isInside, toRealPath } from "../../core/shared/system/files.ts";
import { buildMapping, readSchemaText } from "./build.ts";
import type { Runtime } from "../../core/ports/runtime.ts";

/** How many are compiled at once: a trial must not slow down what the service is for. */
const MAX_IN_FLIGHT = 4;

type Loaded = Pick<Runtime, "config" | "mappings" | "drivers">;

export interface Drafts {
  /** The mapping alone. Throws a `ConfigError` with all its problems, or a 503 when there are too many drafts. */
  build(runtime: Loaded, draft: Draft): Promise<MappingIndex>;
  /** All mappings of the runtime with the change. */
  buildAll(runtime: Loaded, change: DraftChange): Promise<MappingIndex>;
}

export function createDrafts(runner: TransformRunner): Drafts {
  let inFlight = 0;
  return {
    build: (runtime, draft) =>
      limited(async () => createMappingIndex([await compile(runtime, draft)], runtime.config.hooks)),
    buildAll(runtime, change) {
      return limited(async () => {
        if ("hooks" in change)
          return createMappingIndex(await compileAll(runtime, toSources(runtime, change.hooks)), runtime.config.hooks);
        const changed = await compile(runtime, change);
        const loaded = runtime.mappings.mappings;
        const isKnown = loaded.some(({ source }) => source.id === changed.source.id);
        const replaced = loaded.map((mapping) => (mapping.source.id === changed.source.id ? changed : mapping));
        return createMappingIndex(isKnown ? replaced : [...loaded, changed], runtime.config.hooks);
      });
    },
  };

  async function limited(build: () => Promise<MappingIndex>): Promise<MappingIndex> {
    if (inFlight >= MAX_IN_FLIGHT) throw new HookError("overloaded", { message: "Too many drafts are tried at once." });
    inFlight++;
    try {
      return await build();
    } finally {
      inFlight--;
    }
  }

  async function compile(runtime: Loaded, { mapping, files }: Draft): Promise<CompiledMapping> {
    if (typeof mapping !== "string") return compileDraft(runtime, { mapping, files, isWhole: false });
    const { mapping: read, locate } = readMapping(mapping);
    try {
      return await compileDraft(runtime, { mapping: read, files, isWhole: true });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      throw new ConfigError(error.problems.map((problem) => ({ ...locate(problem), ...problem })));
    }
  }

  async function compileDraft(runtime: Loaded, draft: ReadDraft): Promise<CompiledMapping> {
    // Its first call evaluates the module, and shows the same errors as a check.
    const source = toSource(runtime, draft);
    // The draft is for the sender of the loaded mapping, whose `auth` it does not have.
    const loaded = runtime.mappings.mappings.find(({ source: { id } }) => id === source.id);
    const { mapping, problems } = await buildMapping(source, loaded?.credential, {
      files: draft.files,
      readSchemaFile: createSchemaReader(runtime, source),
      transformRoots: runtime.config.hooks.transformRoots,
    });
    if (!mapping || problems.length > 0) throw new ConfigError(problems);
    return mapping;
  }

  async function compileAll(runtime: Loaded, drafts: DraftSource[]): Promise<CompiledMapping[]> {
    const built = await Promise.all(
      drafts.map(({ source, isSigned }) =>
        buildMapping(source, isSigned ? ANY_CREDENTIAL : undefined, {
          runner,
          readSchemaFile: createSchemaReader(runtime, source),
          transformRoots: runtime.config.hooks.transformRoots,
        }),
      ),
    );
    const problems = built.flatMap((mapping) => mapping.problems);
    if (problems.length > 0) throw new ConfigError(problems);
    return built.flatMap(({ mapping }) => mapping ?? []);
  }
}

interface DraftSource {
  source: MappingSource;
  /** Whether it is for the sender that its `auth` names. */
  isSigned: boolean;
}

/**
 * The mappings and presets of another configuration; everything else is the loaded one's. References to variables and files
 * stay text, and secrets are not needed: the senders of stored events are known.
 */
function toSources({ config, drivers }: Loaded, { mappings = [], presets = [] }: DraftHooks): DraftSource[] {
  const { transformsDir } = config.hooks;
  const place = { file: config.file, transformsDir, baseDir: config.baseDir };
  const problems: ConfigProblem[] = [];
  const own = mappings.flatMap((written, index): DraftSource[] => {
    const { auth, ...fields } = toObject(written);
    const key = `hooks.mappings[${index}]`;
    const found = checkMapping(fields).map(toConfigProblem);
    problems.push(...found.map((problem) => ({ ...problem, key: `${key}.${problem.key ?? ""}` })));
    if (!areValid(fields, found)) return [];
    const id = typeof fields.id === "string" ? fields.id : `mapping-${index}`;
    return [{ source: { ...place, id, key, ...withScheduleHook(fields, id) }, isSigned: auth !== undefined }];
  });
  const uses = presets.map((entry, index): PresetUse => {
    const { use, with: values } = toObject(typeof entry === "string" ? { use: entry } : entry);
    return {
      ...locatePreset(toText(use), { baseDir: config.baseDir, vendors: drivers.vendors }),
      with: toObject(values),
      file: config.file,
      transformsDir,
      key: `hooks.presets[${index}]`,
    };
  });
  const { baseDir, hooks, agents } = config;
  for (const { key, written, folder } of uses) {
    if (isBuiltIn(folder) || isOfConfig(folder, config)) continue;
    problems.push({ key, message: `In a draft, the preset "${written}" must be below ${baseDir}, or be in use.` });
  }
  if (problems.length > 0) throw new ConfigError(problems);
  const loaded = loadPresets({ baseDir, agents, hooks: { ...hooks, presets: uses } }, drivers);
  problems.push(...loaded.findings.filter(({ level }) => level === "error"));
  if (problems.length > 0) throw new ConfigError(problems);
  return [...own, ...loaded.mappings.map((source) => ({ source, isSigned: source.mapping.auth !== undefined }))];
}

/** Whether any other file exists, or what it holds, is not for the API to tell. */
function isOfConfig(folder: string, { baseDir, hooks }: Loaded["config"]): boolean {
  const real = toRealPath(folder) ?? folder;
  return hooks.presets.some((use) => use.folder === folder) || isInside(real, toRealPath(baseDir) ?? baseDir);
}

/** Secrets are not needed, and `auth` holds them. */
const checkMapping = createFieldsCheck(["auth"]);
/** `transform` stays as it is loaded. */
const checkFields = createFieldsCheck(["auth", "transform"]);

function createFieldsCheck(without: string[]): ReturnType<typeof createCheck> {
  const read = (): object => {
    const { properties, ...schema } = readSchema("mapping");
    const kept = Object.entries(toObject(properties)).filter(([name]) => !without.includes(name));
    return { ...schema, properties: Object.fromEntries(kept) };
  };
  return createCheck(read, { all: true, subject: "the mapping" });
}

/** A draft whose text is read. */
interface ReadDraft extends Draft {
  mapping: Exclude<Draft["mapping"], string>;
  /** Fields of the loaded mapping that it does not have are removed. */
  isWhole: boolean;
}

/** A mapping that is written as JSON5, and the places of problems in the text. Throws a `ConfigError`. */
export function readMapping(text: string): {
  mapping: ReadDraft["mapping"];
  locate(problem: ConfigProblem): { line: number; column: number } | undefined;
} {
  const { value, locate } = parseSource("mapping.json5", text);
  const { id, ...fields } = toObject(value);
  if (typeof id !== "string" || id === "")
    throw new ConfigError([{ key: "id", message: "The mapping needs an id: a text.", ...locate("id") }]);
  return {
    mapping: { id, ...fields },
    locate: ({ file, key = "" }) => (file === undefined ? locate(key.replace(/^mapping\./, "")) : undefined),
  };
}

function toSource({ config, mappings }: Loaded, { mapping, files, isWhole }: ReadDraft): MappingSource {
  const loaded = mappings.mappings.find(({ source }) => source.id === mapping.id)?.source;
  const { auth: _auth, transform, ...known } = loaded?.mapping ?? {};
  const given = resolveUnchanged(mapping, loaded?.written, loaded?.mapping);
  const fields: unknown = Object.fromEntries(
    Object.entries({ ...(!isWhole && known), ...toObject(given) }).filter(([, value]) => value !== null),
  );
  const problems = checkFields(fields).map(toConfigProblem);
  if (!areValid(fields, problems)) throw new ConfigError(problems);
  const { transformsDir } = config.hooks;
  const place = loaded ?? { file: config.file, transformsDir, baseDir: config.baseDir };
  const drafted = { ...fields, transform: toTransform(transform, files) };
  return { ...place, id: mapping.id, key: "mapping", ...withScheduleHook(drafted, mapping.id) };
}

/** A copy in which each text with references that is as in the loaded mapping has its value. Others stay text. */
function resolveUnchanged(given: unknown, written: unknown, resolved: unknown): unknown {
  if (given === written) return resolved;
  if (typeof given !== "object" || given === null) return given;
  const entries = Object.entries(given).map(([name, child]): [string, unknown] => [
    name,
    resolveUnchanged(child, readOwn(written, name), readOwn(resolved, name)),
  ]);
  return Array.isArray(given) ? entries.map(([, child]) => child) : Object.fromEntries(entries);
}

/** Code that is sent gets no secrets: it could return them. A new mapping calls its first file. */
function toTransform(transform: MappingInput["transform"], files: Draft["files"]): MappingInput["transform"] {
  const [first] = Object.keys(files ?? {});
  if (!transform) return first === undefined ? undefined : { module: first };
  if (!files || !transform.secrets) return transform;
  const secrets = Object.keys(transform.secrets).map((name) => [name, `placeholder-of-${name}`]);
  return { ...transform, secrets: Object.fromEntries(secrets) };
}

/** For a schema file that a draft names: whether any other file exists, or what it holds, is not for the API to tell. */
function createSchemaReader({ mappings }: Loaded, { baseDir }: MappingSource): (file: string) => string {
  const loaded = mappings.mappings.flatMap(({ source }) =>
    typeof source.mapping.schema === "string" ? [path.resolve(source.baseDir, source.mapping.schema)] : [],
  );
  const root = toRealPath(baseDir) ?? baseDir;
  return (file) => {
    try {
      const real = toRealPath(file) ?? root;
      const isBeside = isInside(real, root) && path.extname(real) === ".json";
      const text = isBeside || loaded.includes(file) ? readSchemaText(file) : "";
      JSON.parse(text.replace(/^\ufeff/, ""));
      return text;
    } catch {
      throw new Error(`in a draft it must be valid JSON in a .json file below ${baseDir}`);
    }
  };
}

function areValid(_fields: unknown, problems: unknown[]): _fields is MappingInput {
  return problems.length === 0;
}
