import { createCheck, readSchema } from "../config/schema/validator.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import { toConfigProblem } from "../config/schema/problems.ts";
import { PRESETS_FOLDER } from "../config/presets/file.ts";
import { loadPresets } from "../config/presets/load.ts";
import type { MappingSource, PresetUse } from "../config/types.ts";
import { ConfigError, type ConfigProblem, HookError } from "../errors.ts";
import type { CompiledMapping } from "../mapping/compile.ts";
import { createMappingIndex, type MappingIndex } from "../mapping/mapping-index.ts";
import { toObject, toText } from "../shared/json.ts";
import { ANY_CREDENTIAL } from "../types.ts";
import type { TransformRunner } from "../transforms/runner.ts";
import { buildMapping, type Program } from "./build.ts";

/** A mapping as it is being written: it is in no file yet. */
export interface Draft {
  /** Fields over those of the loaded mapping with this id; null removes one. Without such a mapping, a new one. */
  mapping: { id: string; [field: string]: unknown };
  /** The text of the transform's module. Default: the file's. */
  code?: string;
}

/** Changes to the loaded mappings: one draft, or all mappings and presets of another configuration. */
export type DraftChange = Draft | { hooks: { mappings?: unknown[]; presets?: unknown[] } };

/** How many are compiled at once: a trial must not slow down what the service is for. */
const MAX_IN_FLIGHT = 4;

type Loaded = Pick<Program, "config" | "mappings" | "drivers">;

export interface Drafts {
  /** The mapping alone. Throws a `ConfigError` with all its problems, or a 503 when there are too many drafts. */
  build(program: Loaded, draft: Draft): Promise<MappingIndex>;
  /** All mappings of the program with the change. */
  buildAll(program: Loaded, change: DraftChange): Promise<MappingIndex>;
}

export function createDrafts(runner: TransformRunner): Drafts {
  let inFlight = 0;
  return {
    build: (program, draft) => limited(async () => createMappingIndex([await compile(program, draft)])),
    buildAll(program, change) {
      return limited(async () => {
        if ("hooks" in change) return createMappingIndex(await compileAll(toSources(program, change.hooks)));
        const changed = await compile(program, change);
        const loaded = program.mappings.mappings;
        const isKnown = loaded.some(({ source }) => source.id === changed.source.id);
        const replaced = loaded.map((mapping) =>
          mapping.source.id === changed.source.id ? { ...changed, credential: mapping.credential } : mapping,
        );
        return createMappingIndex(isKnown ? replaced : [...loaded, changed]);
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

  async function compile(program: Loaded, draft: Draft): Promise<CompiledMapping> {
    // Its first call evaluates the module, and shows the same errors as a check.
    const { mapping, problems } = await buildMapping(toSource(program, draft), undefined, { code: draft.code });
    if (!mapping || problems.length > 0) throw new ConfigError(problems);
    return mapping;
  }

  async function compileAll(drafts: DraftSource[]): Promise<CompiledMapping[]> {
    const built = await Promise.all(
      drafts.map(({ source, isSigned }) => buildMapping(source, isSigned ? ANY_CREDENTIAL : undefined, { runner })),
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
function toSources(
  { config, drivers }: Loaded,
  { mappings = [], presets = [] }: { mappings?: unknown[]; presets?: unknown[] },
): DraftSource[] {
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
    return [{ source: { ...place, id, key, mapping: fields }, isSigned: auth !== undefined }];
  });
  const uses = presets.map((entry, index): PresetUse => {
    const { use, with: values } = toObject(typeof entry === "string" ? { use: entry } : entry);
    return { name: toText(use), with: toObject(values), key: `hooks.presets[${index}]` };
  });
  const loaded = loadPresets({ ...config.hooks, presets: uses }, PRESETS_FOLDER, drivers);
  problems.push(...loaded.findings.filter(({ level }) => level === "error"));
  if (problems.length > 0) throw new ConfigError(problems);
  return [...own, ...loaded.mappings.map((source) => ({ source, isSigned: source.mapping.auth !== undefined }))];
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

function toSource({ config, mappings }: Loaded, { mapping }: Draft): MappingSource {
  const loaded = mappings.mappings.find(({ source }) => source.id === mapping.id)?.source;
  const { auth: _auth, transform, ...known } = loaded?.mapping ?? {};
  const fields: unknown = Object.fromEntries(
    Object.entries({ ...known, ...mapping }).filter(([, value]) => value !== null),
  );
  const problems = checkFields(fields).map(toConfigProblem);
  if (!areValid(fields, problems)) throw new ConfigError(problems);
  const { transformsDir } = config.hooks;
  const place = loaded ?? { file: config.file, transformsDir, baseDir: config.baseDir };
  return { ...place, id: mapping.id, key: "mapping", mapping: { ...fields, transform } };
}

function areValid(_fields: unknown, problems: unknown[]): _fields is MappingInput {
  return problems.length === 0;
}
