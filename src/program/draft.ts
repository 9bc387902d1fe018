import { createCheck, readSchema } from "../config/schema/validator.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import { toConfigProblem } from "../config/schema/problems.ts";
import type { MappingSource } from "../config/types.ts";
import { ConfigError, HookError } from "../errors.ts";
import { createMappingIndex, type MappingIndex } from "../mapping/mapping-index.ts";
import { toObject } from "../shared/json.ts";
import type { TransformRunner } from "../transforms/runner.ts";
import { buildMapping, type Program } from "./build.ts";

/** A mapping as it is being written: it is in no file yet. */
export interface Draft {
  /** Fields over those of the loaded mapping with this id; null removes one. Without such a mapping, a new one. */
  mapping: { id: string; [field: string]: unknown };
  /** The text of the transform's module. Default: the file's. */
  code?: string;
}

/** How many are compiled at once: a trial must not slow down what the service is for. */
const MAX_IN_FLIGHT = 4;
export interface Drafts {
  /** The mapping alone. Throws a `ConfigError` with all its problems, or a 503 when there are too many drafts. */
  build(program: Pick<Program, "config" | "mappings">, draft: Draft): Promise<MappingIndex>;
}

export function createDrafts(runner: TransformRunner): Drafts {
  let inFlight = 0;
  return {
    async build(program, draft) {
      if (inFlight >= MAX_IN_FLIGHT)
        throw new HookError("overloaded", { message: "Too many drafts are tried at once." });
      inFlight++;
      try {
        const source = toSource(program, draft);
        const { mapping, problems } = await buildMapping(source, undefined, { runner, code: draft.code });
        if (!mapping || problems.length > 0) throw new ConfigError(problems);
        return createMappingIndex([mapping]);
      } finally {
        inFlight--;
      }
    },
  };
}

/** Without what holds secrets: `auth`, which a trial does not need, and `transform`, which stays as it is loaded. */
const checkFields = createCheck(
  () => {
    const schema = readSchema("mapping");
    const { auth: _auth, transform: _transform, ...properties } = toObject(schema["properties"]);
    return { ...schema, properties };
  },
  { all: true, subject: "the mapping" },
);

function toSource({ config, mappings }: Pick<Program, "config" | "mappings">, { mapping }: Draft): MappingSource {
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
