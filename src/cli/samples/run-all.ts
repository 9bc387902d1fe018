import { readFileSync } from "node:fs";
import path from "node:path";
import { examineConfig } from "../../config/examine.ts";
import { type ReadConfig, toReadConfig } from "../../config/load.ts";
import { parseSource, type Source } from "../../config/parse/source.ts";
import type { MappingInput } from "../../config/schema/generated.ts";
import { ConfigError, type ConfigProblem } from "../../errors.ts";
import { buildProgram, type Program } from "../../program/build.ts";
import { isObject } from "../../shared/json.ts";
import type { TransformRunner } from "../../transforms/runner.ts";
import { describeError } from "../context.ts";
import { findSamples, type Sample, type SampleSet } from "./find.ts";
import { reportBroken, reportSample, reportTally, type Tally } from "./report.ts";
import { type RunOptions, runSample, type SampleResult } from "./run.ts";

export interface RunAllOptions {
  /** Absolute. */
  folder: string;
  runner: TransformRunner;
  update: boolean;
}

/** Runs every sample below a folder and prints what came of each; the last line counts them. */
export async function runAllSamples(options: RunAllOptions): Promise<Tally> {
  const tally: Tally = { passed: 0, updated: 0, failed: 0 };
  for (const set of findSamples(options.folder)) {
    console.log(set.name);
    await runSet(set, options, tally);
  }
  console.log(`\n${reportTally(tally)}`);
  return tally;
}

async function runSet(set: SampleSet, options: RunAllOptions, tally: Tally): Promise<void> {
  try {
    const { folder, runner, update } = options;
    const program = await buildSamples(set, folder, runner);
    for (const sample of set.samples) await runOne(sample, { program, runner, update }, tally);
  } catch (error) {
    tally.failed += Math.max(1, set.samples.length);
    print(reportBroken("it cannot be loaded", describeError(error)));
  }
}

async function runOne(sample: Sample, options: RunOptions, tally: Tally): Promise<void> {
  try {
    const result = await runSample(sample, options);
    tally[toColumn(result)]++;
    print(reportSample(sample.name, result));
  } catch (error) {
    tally.failed++;
    print(reportBroken(sample.name, describeError(error)));
  }
}

function toColumn({ kind }: SampleResult): keyof Tally {
  return kind === "passed" || kind === "updated" ? kind : "failed";
}

function print(lines: string[]): void {
  console.log(lines.join("\n"));
}

/**
 * What the service would serve with a configuration of this transform's mapping and nothing else, so that a sample gives
 * the same on every machine. Throws a `ConfigError` with everything that is wrong with module and mapping.
 */
async function buildSamples(set: SampleSet, folder: string, runner: TransformRunner): Promise<Program> {
  try {
    return await buildProgram({ generation: 1, load: async () => readMapping(set, folder), runner });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.problems.map((problem) => toOwnTerms(problem, set.mappingFile)));
  }
}

const KEY = "hooks.mappings[0]";

function readMapping({ name, module, mappingFile: file }: SampleSet, folder: string): ReadConfig {
  if (module === undefined) {
    throw new ConfigError([{ message: `There are samples of ${name}, but no module beside them.` }]);
  }
  const source = file === undefined ? undefined : parseSource(file, readFileSync(file, "utf8"));
  const given = source === undefined ? {} : requireMapping(source, file);
  const mapping: MappingInput = {
    id: name,
    ...given,
    match: { path: name, ...given.match },
    transform: { ...given.transform, module },
  };
  const config = { hooks: { transformsDir: folder, mappings: [mapping] } };
  const examination = examineConfig(config, {
    file,
    baseDir: file === undefined ? folder : path.dirname(file),
    env: process.env,
  });
  return toReadConfig(examination, source && toConfigSource(source));
}

/** The configuration's schema sees to the rest. */
function requireMapping({ value }: Source, file: string | undefined): Partial<MappingInput> {
  if (isObject(value)) return value;
  throw new ConfigError([{ file, message: "A mapping is an object." }]);
}

/** The author knows nothing of the configuration around the mapping, and of the mapping only where there is a file. */
function toOwnTerms(problem: ConfigProblem, mappingFile: string | undefined): ConfigProblem {
  const isOfMapping = mappingFile !== undefined && problem.file === mappingFile;
  return { ...problem, key: isOfMapping ? problem.key?.replace(`${KEY}.`, "") : undefined };
}

/** The file holds just the mapping: its keys begin further down than the configuration's. */
function toConfigSource(source: Source): Source {
  return { ...source, locate: (key) => source.locate(key.replace(KEY, "").replace(/^\./, "")) };
}
