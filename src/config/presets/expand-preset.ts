import path from "node:path";
import { compileSchema } from "../ajv.ts";
import { toConfigProblem } from "../check-schema.ts";
import { didYouMean } from "../did-you-mean.ts";
import { fillParameters, type ParameterUse } from "./fill-parameters.ts";
import { error, type Finding } from "../finding.ts";
import type { MappingInput, Preset } from "../generated.ts";
import { toKeyPath } from "../key-path.ts";
import { checkParameters, gatherParameters } from "./preset-parameters.ts";
import type { PresetFile } from "./read-preset.ts";
import type { MappingSource, PresetUse, ResolvedConfig } from "../resolved.ts";
import { readSchema } from "../schemas.ts";

/** What a use of a preset comes to. */
export interface Expansion {
  mappings: MappingSource[];
  /** Those without a file are about the configuration. */
  findings: Finding[];
  /** Which key of the preset's file has its value from which key of the configuration. */
  origins: { file: string; key: string; origin: string }[];
}

/** Checks the parameters that a preset is used with, fills them in, and checks what comes of it. */
export function expandPreset(
  presetFile: PresetFile,
  use: PresetUse,
  mail: ResolvedConfig["hooks"]["mail"],
): Expansion {
  const { preset, file } = presetFile;
  const parameters = gatherParameters(preset, use, mail);
  const refused = checkParameters(preset, use, parameters);
  if (refused.length > 0) return { mappings: [], findings: refused, origins: [] };

  const values = new Map([...parameters].map(([name, { value }]) => [name, value]));
  const filled = preset.mappings.map((template, index) => fillParameters(template, keyOf(index), values));
  const uses = filled.flatMap((mapping) => mapping.uses);
  const findings = [
    ...uses.flatMap((parameterUse) => checkDeclared(parameterUse, preset)),
    ...filled.flatMap(({ value }, index) => checkMapping(value, index)),
  ];
  return {
    mappings: filled.flatMap(({ value }, index) =>
      isMapping(value) ? toSource(value, index, presetFile) : [],
    ),
    findings: findings.map((finding) => ({ ...finding, file })),
    origins: uses.flatMap(({ key, name }) => ({ file, key, origin: parameters.get(name)?.key ?? use.key })),
  };
}

const check = compileSchema(readSchema("mapping"), { all: true });

function isMapping(value: unknown): value is MappingInput {
  return check(value).length === 0;
}

function checkMapping(value: unknown, index: number): Finding[] {
  return check(value).map((problem) =>
    error(toKeyPath(["mappings", index, ...problem.segments]), toConfigProblem(problem).message),
  );
}

function checkDeclared({ key, name }: ParameterUse, { parameters = {} }: Preset): Finding[] {
  if (Object.hasOwn(parameters, name)) return [];
  return [error(key, `the preset has no parameter "${name}"${didYouMean(name, Object.keys(parameters))}`)];
}

function toSource(mapping: MappingInput, index: number, { preset, file }: PresetFile): MappingSource {
  const ownId = preset.mappings.length === 1 ? preset.name : `${preset.name}-${index}`;
  const folder = path.dirname(file);
  return {
    mapping,
    id: mapping.id ?? ownId,
    preset: preset.name,
    file,
    key: keyOf(index),
    transformsDir: folder,
    baseDir: folder,
  };
}

function keyOf(index: number): string {
  return `mappings[${index}]`;
}
