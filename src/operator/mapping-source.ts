import { globSync } from "node:fs";
import path from "node:path";
import type { MappingInput } from "../config/schema/generated.ts";
import type { MappingSource } from "../config/types.ts";
import { parseObject } from "../shared/json.ts";
import { readRegularFile } from "../shared/regular-file.ts";

/** What a mapping is made of, to be edited and tried. Without secrets. */
export interface MappingSourceView {
  id: string;
  preset?: string;
  /** Where it is written. */
  file?: string;
  key: string;
  /** All fields but `auth` and `transform`. */
  fields: Omit<MappingInput, "auth" | "transform">;
  /** The module as it is in its file now. */
  transform?: { file: string; code: string };
  samples: Sample[];
}

interface Sample {
  name: string;
  payload: unknown;
  headers?: unknown;
  query?: unknown;
}

const MAX_SAMPLES = 50;
const MAX_BYTES = 256 * 1024;

export function toMappingSourceView(source: MappingSource): MappingSourceView {
  const { id, preset, file, key, transformsDir } = source;
  const { auth: _auth, transform, ...fields } = source.mapping;
  const module = transform && path.resolve(transformsDir, transform.module);
  return {
    id,
    preset,
    file,
    key,
    fields,
    transform: module === undefined ? undefined : { file: module, code: read(module) ?? "" },
    samples: readSamples(source, module),
  };
}

/** As `webhooks test` finds them: beside the module, for the hook, or in the preset's folder. */
function readSamples(
  { preset, file = "", mapping, transformsDir }: MappingSource,
  module: string | undefined,
): Sample[] {
  const folders = [
    ...(module === undefined ? [] : [`${module.slice(0, -path.extname(module).length)}.samples`]),
    ...(mapping.match?.path === undefined ? [] : [path.join(transformsDir, `${mapping.match.path}.samples`)]),
    ...(preset === undefined ? [] : [path.join(path.dirname(file), "samples")]),
  ];
  const files = [...new Set(folders)].flatMap((folder) =>
    globSync("*.json", { cwd: folder })
      .filter((name) => !/\.(?:expected|request)\.json$/.test(name))
      .toSorted()
      .map((name) => path.join(folder, name)),
  );
  return files.slice(0, MAX_SAMPLES).flatMap(readSample);
}

/** A file that is no JSON is left out. */
function readSample(file: string): Sample[] {
  try {
    const payload: unknown = JSON.parse(read(file) ?? "");
    const { headers, query } = parseObject(read(file.replace(/\.json$/, ".request.json")) ?? "");
    return [{ name: path.basename(file, ".json"), payload, headers, query }];
  } catch {
    return [];
  }
}

function read(file: string): string | undefined {
  try {
    return readRegularFile(file, MAX_BYTES).toString("utf8");
  } catch {
    return undefined;
  }
}
