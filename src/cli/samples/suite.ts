import { trimSlashes } from "../../core/shared/text/text.ts";
import { readFileSync } from "node:fs";
import path from "node:path";
import type { ReadConfig } from "../../core/config/load.ts";
import { findTransformsDir, listItems, readTarget, type Target } from "../../service/authoring/target.ts";
import { checkConfig } from "../../service/drivers.ts";
import { readPreset, toPresetName } from "../../core/config/presets/file.ts";
import { parseSource, type Source } from "../../core/config/parse/source.ts";
import type { MappingInput } from "../../core/config/schema/generated.ts";
import { toPlaceholder } from "../../core/config/typed-references.ts";
import { ConfigError, type ConfigProblem } from "../../core/errors.ts";
import { buildRuntime } from "../../service/runtime/build.ts";
import type { Runtime } from "../../core/ports/runtime.ts";
import { orElse } from "../../core/shared/system/files.ts";
import { isObject, readPath, toObject, toObjects, toText } from "../../core/shared/json.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { toScheduleHook } from "../../core/types.ts";
import type { TransformRunner } from "../../core/transforms/runner.ts";
import { describeError } from "../command.ts";
import { type AgentsConfig, describeReach } from "../commands/agents.ts";
import { formatActions, formatDiff, formatLog } from "../format.ts";
import { type CliIo, print, printJsonLine, style } from "../io.ts";
import {
  findAllSamples,
  runSample,
  selectSamples,
  type Expectation,
  type Sample,
  type SampleResult,
  type SampleSet,
} from "../../service/authoring/sample.ts";

export interface SuiteOptions {
  /** Absolute. */
  folders: string[];
  runner: TransformRunner;
  /** Names of transforms or samples; empty: all. */
  names: string[];
  /** The configuration with the mappings of samples without a module, absolute. */
  config?: string;
  /** Whether to record the actual actions as the expected ones. */
  update(set: SampleSet, sample: Sample): boolean;
  /** Prints one JSON object instead of lines. */
  json: boolean;
  io: CliIo;
}

/** Runs every sample below the folders and prints the results; the last line counts them. Resolves to the number of failures. */
export async function runAllSamples(options: SuiteOptions): Promise<number> {
  const { folders, names, runner, update, io, json } = options;
  const counts = { passed: 0, updated: 0, failed: 0 };
  /** One for each sample, or for a transform that cannot be loaded. */
  const rows: object[] = [];
  for (const set of selectSamples(findAllSamples(folders), names)) {
    show(folders.length === 1 ? set.name : `${set.name} ${style("dim", path.relative(io.cwd, set.folder))}`);
    try {
      const runtime = await buildSamples(set, { ...options, env: io.env });
      for (const sample of set.samples) await run(set, sample, runtime);
      const turns = runtime.mappings.mappings.map(({ source }) => source.mapping);
      show(...describeReach(turns, readAgents(options)).map((line) => `  ${style("dim", line)}`));
    } catch (error) {
      fail(set, error);
    }
  }
  if (json) printJsonLine(io, { ok: counts.failed === 0, ...counts, samples: rows });
  show("", formatCounts(counts));
  return counts.failed;

  async function run(set: SampleSet, sample: Sample, runtime: Runtime): Promise<void> {
    const name = `${set.name}/${sample.name}`;
    try {
      const result = await runSample(sample, { runtime, runner, update: update(set, sample) });
      counts[result.kind === "unexpected" ? "failed" : result.kind]++;
      rows.push({ name, folder: set.folder, ...result });
      show(...formatResult(sample.name, result));
    } catch (error) {
      fail(set, error, sample);
    }
  }

  /** Without a sample: all of them. */
  function fail({ name: setName, folder, samples }: SampleSet, error: unknown, sample?: Sample): void {
    const name = sample ? `${setName}/${sample.name}` : setName;
    const title = sample?.name ?? "it cannot be loaded";
    const reason = describeError(error);
    counts.failed += sample ? 1 : Math.max(1, samples.length);
    rows.push({ name, folder, kind: "failed", reason });
    show(`  ${style("red", "✗")} ${title}`, ...indent(reason.split("\n")));
  }

  function show(...lines: string[]): void {
    if (!json) print(io, ...lines);
  }
}

/**
 * Builds a configuration of only this transform's mapping, or this preset, so that a sample gives the same result on
 * every machine. Throws a `ConfigError` with everything that is wrong with it.
 */
export async function buildSamples(
  set: SampleSet,
  { runner, ...source }: MappingSourceOptions & { runner: TransformRunner },
): Promise<Runtime> {
  try {
    return await buildRuntime({ generation: 1, load: () => readMapping(set, source), runner });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.problems.map((problem) => toMappingProblem(problem, set.mappingFile)));
  }
}

/** The agents of the configuration around the samples, as they are written. */
function readAgents({ config, io }: SuiteOptions): AgentsConfig {
  const files = config === undefined ? [] : readTarget(config, io.env).files.map(({ written }) => written);
  const models = files.flatMap((written) => toText(readPath(written, ["agents", "defaults", "model"])) || []);
  const providers = files.flatMap((written) => Object.entries(toObject(readPath(written, ["agents", "providers"]))));
  const blocks = providers.map(([name, block]): [string, AgentsConfig["providers"][string]] => [name, toObject(block)]);
  return { model: models[0], providers: Object.fromEntries(blocks) };
}

interface MappingSourceOptions {
  config?: string;
  env: NodeJS.ProcessEnv;
}

const KEY = "hooks.mappings[0]";

/** Samples are of anyone, where somebody must say who may start a turn. */
function toSampleUse(folder: string): { use: string; with: object } {
  const from = orElse(undefined, () => readPreset(folder).preset.from);
  return { use: folder, with: from && !from.default ? { from: "anyone" } : {} };
}

async function readMapping(
  { folder, name, preset, module, mappingFile: file }: SampleSet,
  { config: configFile, env }: MappingSourceOptions,
): Promise<ReadConfig> {
  const target = configFile === undefined ? undefined : readTarget(configFile, env);
  const plugins = target ? listItems(target, ["plugins"]).map(toPluginPath) : [];
  if (preset !== undefined) {
    const config = { plugins, hooks: { presets: [toSampleUse(preset)] } };
    return checkConfig(config, { baseDir: path.dirname(configFile ?? folder), env });
  }
  const wanted = { hook: name, module };
  const found = (target?.files ?? []).map((of) => ({
    file: of.file,
    presets: findPresetUses(of.written, wanted),
    mappings: file === undefined ? findMappings(of.written, wanted) : [],
  }));
  const using = found.filter(({ presets, mappings }) => presets.length + mappings.length > 0);
  // Modules of parts with folders of their own can have one name.
  const own = using.find((one) => target && findTransformsDir(target, one.file) === folder) ?? using[0];
  if (target && own) {
    const { presets, mappings } = own;
    const baseDir = path.dirname(own.file);
    const config = { plugins, channels: readChannels(target), hooks: { transformsDir: folder, mappings, presets } };
    return checkConfig(config, { baseDir, env: { ...env, [NO_VALUE]: toPlaceholder("channel") } });
  }
  if (module === undefined) {
    const message = `There are samples of ${name}, but no module beside them, and neither a mapping nor a preset of that hook in the configuration.`;
    throw new ConfigError([{ message }]);
  }
  const source = file === undefined ? undefined : parseSource(file, readFileSync(file, "utf8"));
  const given = source === undefined ? {} : requireMapping(source, file);
  const mapping: MappingInput = {
    id: name,
    ...(target?.files.some(({ written }) => keepsState(written, module)) && { state: true }),
    ...given,
    match: { path: name, ...given.match },
    transform: { ...given.transform, module },
  };
  const config = { hooks: { transformsDir: folder, mappings: [mapping] } };
  const baseDir = file === undefined ? folder : path.dirname(file);
  return checkConfig(config, { file, baseDir, env, source: source && toConfigSource(source) });
}

/** In place of the references of channels that have no value here. Nothing is sent. */
const NO_VALUE = "HOOKLINE_NO_VALUE";

/** The channels that mappings may name. */
function readChannels({ files, env }: Target): object {
  const blocks: Record<string, object> = {};
  for (const { written } of files.toReversed()) {
    const own = Object.entries(toObject(readPath(written, ["channels"])));
    for (const [name, block] of own) blocks[name] = { ...blocks[name], ...toObject(block) };
  }
  const text = JSON.stringify(blocks);
  const known = text.replaceAll(
    /\$\{(?:([A-Za-z_]\w*)(:-[^}]*)?|file:[^}]*)\}/g,
    (reference, name = "", fallback = "") =>
      fallback !== "" || env[name] !== undefined ? reference : `\${${NO_VALUE}}`,
  );
  return toObject(JSON.parse(known));
}

/** Relative to its own file. */
function toPluginPath({ file, item }: { file: string; item: unknown }): string {
  const plugin = toText(item);
  return plugin.startsWith(".") ? path.resolve(path.dirname(file), plugin) : plugin;
}

/** The configuration's own mappings of a hook, or those that give the module something to start from. A sample needs no credential. */
function findMappings(written: unknown, { hook, module }: { hook: string; module: string | undefined }): object[] {
  return toObjects(readPath(written, ["hooks", "mappings"]))
    .filter((mapping) =>
      module === undefined
        ? toHookOf(mapping) === hook
        : readPath(mapping, ["transform", "module"]) === module && BASES.some((field) => field in mapping),
    )
    .map(({ auth: _auth, ...mapping }) => mapping);
}

function toHookOf(mapping: Record<string, unknown>): string {
  if (mapping["schedule"] !== undefined) return toScheduleHook(toText(mapping["id"]));
  return trimSlashes(String(readPath(mapping, ["match", "path"])));
}

/** With one of these a transform has a base, or its own kind of event. */
const BASES = ["messageTemplate", "textTemplate", "forEach", "schedule"];

/** Whether a mapping of the configuration that calls the module has a state. It begins empty for each sample. */
function keepsState(written: unknown, module: string): boolean {
  return toObjects(readPath(written, ["hooks", "mappings"])).some(
    (mapping) => readPath(mapping, ["transform", "module"]) === module && mapping["state"] !== undefined,
  );
}

/** The uses of presets for a hook, or with its module. A sample needs no secret. */
function findPresetUses(written: unknown, { hook, module }: { hook: string; module: string | undefined }): object[] {
  const uses = readPath(written, ["hooks", "presets"]);
  return (Array.isArray(uses) ? uses : [])
    .map((use: unknown) =>
      typeof use === "string"
        ? { use, with: {} }
        : { use: readPath(use, ["use"]), with: toObject(readPath(use, ["with"])) },
    )
    .filter(({ use, with: given }) =>
      module === undefined
        ? trimSlashes(toText(given["path"] ?? toPresetName(toText(use)))) === hook
        : readPath(given, ["transform", "module"]) === module,
    )
    .map(({ use, with: { secret: _secret, ...given } }) => ({ use, with: given }));
}

/** The configuration's schema checks the rest. */
function requireMapping({ value }: Source, file: string | undefined): Partial<MappingInput> {
  if (isObject(value)) return value;
  throw new ConfigError([{ file, message: "A mapping must be an object." }]);
}

/** The author does not see the configuration around the mapping, so keys start at the mapping. */
function toMappingProblem(problem: ConfigProblem, mappingFile: string | undefined): ConfigProblem {
  const isOfMapping = mappingFile !== undefined && problem.file === mappingFile;
  return { ...problem, key: isOfMapping ? problem.key?.replace(`${KEY}.`, "") : undefined };
}

/** Looks up keys of the configuration in a file that holds only the mapping. */
function toConfigSource(source: Source): Source {
  return { ...source, locate: (key) => source.locate(key.replace(KEY, "").replace(/^\./, "")) };
}

function formatResult(name: string, result: SampleResult): string[] {
  const title = `${name} ${style("dim", `${result.durationMs.toFixed(1)} ms`)}`;
  if (result.kind === "passed") return [`  ${style("green", "✓")} ${title}`];
  if (result.kind === "updated") return [`  ${style("yellow", "✎")} ${title}, updated`];
  return [`  ${style("red", "✗")} ${title}`, ...indent(formatFailure(result)), ...indent(formatLog(result.log))];
}

function formatFailure(result: Extract<SampleResult, { kind: "unexpected" | "failed" }>): string[] {
  if (result.kind === "failed") return toPrintable(result.reason).split("\n");
  const given = formatExpectation(result.given);
  if (result.expected) return formatDiff(formatExpectation(result.expected), given);
  return ["Nothing is expected yet; --update records this:", ...given.map((line) => `  ${line}`)];
}

function formatExpectation(expectation: Expectation): string[] {
  if (Array.isArray(expectation)) return formatActions(expectation);
  const { event, subject, actions, reason } = expectation;
  const named = Object.entries({ event, subject }).flatMap(([name, text]) => (text ? [`${name}: ${text}`] : []));
  return [...named.map(toPrintable), ...formatActions(actions, reason)];
}

function indent(lines: string[]): string[] {
  return lines.map((line) => (line === "" ? "" : `    ${line}`));
}

function formatCounts({ passed, updated, failed }: Record<"passed" | "updated" | "failed", number>): string {
  const parts = [style("green", `${passed} passed`)];
  if (updated > 0) parts.push(style("yellow", `${updated} updated`));
  parts.push(failed > 0 ? style("red", `${failed} failed`) : "0 failed");
  return parts.join(", ");
}
