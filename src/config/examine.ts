import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ConfigProblem } from "../errors.ts";
import { isWithin } from "../shared/json.ts";
import { checkSchema } from "./check-schema.ts";
import type { Finding } from "./finding.ts";
import { PACKAGE_ROOT } from "./package.ts";
import type { Source } from "./parse/source.ts";
import type { Plugin } from "../plugin.ts";
import { type Expansion, loadPresets, toOrigin } from "./presets.ts";
import { type References, resolveReferences } from "./references.ts";
import { type Origin, resolveUserConfig } from "./resolve.ts";
import { RULES } from "./rules/rules.ts";
import type { ResolvedConfig } from "./types.ts";

export interface ExamineOptions extends Origin, References {
  /** The folder of the presets, absolute. Default: the package's own. */
  presetsDir?: string;
  /** Default: none. */
  plugins?: Plugin[];
}

/** All there is to know about a configuration. Problems without a file are the configuration's own. */
export interface Examination {
  /** Without what has problems: good for looking on, good for use where there are none. */
  config: ResolvedConfig;
  problems: ConfigProblem[];
  warnings: ConfigProblem[];
  /** The presets' files, by absolute path. */
  presets: Map<string, Source>;
  /** Which of their values the configuration gave. */
  origins: Expansion["origins"];
  /** The files that values come from, absolute. */
  references: string[];
}

const PRESETS_DIR = path.join(PACKAGE_ROOT, "presets");

/** The way from what a person wrote to what the code uses: variables, schema, defaults, presets, rules. */
export function examineConfig(written: unknown, options: ExamineOptions): Examination {
  const { value, problems: unset, files: references } = resolveReferences(written, options);
  const { valid, problems: misfits } = checkSchema(value, options.plugins);
  const user = resolveUserConfig(valid, options, options.plugins);
  const presets = loadPresets(user.hooks, options.presetsDir ?? PRESETS_DIR);
  const config = withMappings(user, presets.mappings);

  const spoiled = [...unset, ...misfits.filter((misfit) => !isAbout(misfit, unset))];
  const findings = [...presets.findings, ...RULES.flatMap((rule) => rule(config))]
    .map((finding) => toOrigin(finding, presets.origins))
    .filter((finding) => !isAbout(finding, spoiled));
  return {
    config,
    problems: [...spoiled, ...ofLevel("error", findings)],
    warnings: ofLevel("warning", findings),
    presets: presets.sources,
    origins: presets.origins,
    references,
  };
}

function withMappings(config: ResolvedConfig, added: ResolvedConfig["hooks"]["mappings"]): ResolvedConfig {
  return { ...config, hooks: { ...config.hooks, mappings: [...config.hooks.mappings, ...added] } };
}

/** A key that already has a problem, or that holds one, was looked at in a wrong or missing state. */
function isAbout({ key = "" }: ConfigProblem, problems: ConfigProblem[]): boolean {
  return problems.some(({ key: other = "" }) => isWithin(key, other) || isWithin(other, key));
}

/** As problems, each once: a value that a preset hands on is met again where it arrives. */
function ofLevel(level: Finding["level"], findings: Finding[]): ConfigProblem[] {
  const problems = findings
    .filter((finding) => finding.level === level)
    .map(({ file, key, message }) => ({ file, key, message }));
  return problems.filter(
    (problem, index) => problems.findIndex((other) => isDeepStrictEqual(other, problem)) === index,
  );
}
