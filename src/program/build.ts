import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ChannelDriver } from "../channels/driver.ts";
import { byPlace, type ReadConfig } from "../config/load.ts";
import type { Drivers } from "../config/plugins.ts";
import { staticText } from "../config/rules/finding.ts";
import type { MappingSource, ResolvedConfig } from "../config/types.ts";
import { ConfigError, type ConfigProblem, messageOf } from "../errors.ts";
import { createDoors, type Doors } from "../ingress/doors.ts";
import type { RunLimits } from "../journal/journal.ts";
import { type CompiledMapping, compileMapping, toRunLimits } from "../mapping/compile.ts";
import { createMappingIndex, findShadowed, isBuiltInHook, type MappingIndex } from "../mapping/mapping-index.ts";
import { isWithin } from "../shared/json.ts";
import { readRegularFile } from "../shared/files.ts";
import { toChannelName } from "../shared/text.ts";
import { type Log, silentLog } from "../telemetry/log.ts";
import { type CodeCache, compileTransform } from "../transforms/compile.ts";
import type { TransformRunner, TransformSpec } from "../transforms/runner.ts";
import { findSlowTransforms, openDrivers, type OpenDrivers } from "./drivers.ts";

/** Everything that config, presets and transforms mean, compiled ahead of any request. Never changed, only replaced. */
export interface Program extends Omit<OpenDrivers, "problems"> {
  /** 1 for the first, one more for each that replaced it. */
  generation: number;
  /** When its files were read, and when it was complete, in milliseconds since the epoch. */
  readAt: number;
  builtAt: number;
  config: ResolvedConfig;
  /** Who may send to which hook. */
  doors: Doors;
  /** The definitions that its drivers were made from. */
  drivers: Drivers;
  mappings: MappingIndex;
  limits: RunLimits;
  warnings: ConfigProblem[];
  /** Files and folders that are watched for changes. */
  files: string[];
}

export interface BuildOptions {
  generation: number;
  load(): Promise<ReadConfig>;
  /** If it was loaded earlier: when that began. */
  readAt?: number;
  runner: TransformRunner;
  /** For the drivers. Default: silent. */
  log?: Log;
  cache?: CodeCache;
}

/** Builds a program whole, or throws a `ConfigError` with all problems. */
export async function buildProgram({
  generation,
  load,
  runner,
  log = silentLog,
  cache,
  readAt = Date.now(),
}: BuildOptions): Promise<Program> {
  const read = await load();
  const { config, drivers } = read;
  const place = (problem: ConfigProblem): ConfigProblem => (problem.line === undefined ? read.place(problem) : problem);
  const { problems: refused, ...opened } = await openDrivers(read, log);
  const credentials = new Map(
    opened.senders.flatMap(({ credential, mappings }) => mappings.map((source) => [source, credential])),
  );
  const built = await Promise.all(
    config.hooks.mappings.map((source) => buildMapping(source, credentials.get(source), { runner, cache })),
  );
  const recipients = checkRecipients(
    [
      ...config.hooks.mappings.map(({ mapping, key, file }) => ({ ...mapping, key, file })),
      ...config.alerts.map((rule) => ({ ...rule, file: config.file })),
    ],
    opened.channels,
  );
  const found = [...built.flatMap((mapping) => mapping.problems), ...recipients].map(place);
  // What the rules found wrong in a block is why its driver refuses it.
  const others = refused
    .map(place)
    .filter(
      ({ file, key = "" }) => !read.problems.some((known) => known.file === file && isWithin(known.key ?? "", key)),
    );
  // The mappings of a preset can have the same one.
  const problems = [...read.problems, ...found, ...others].filter(
    (problem, index, all) => all.findIndex((other) => isDeepStrictEqual(other, problem)) === index,
  );
  if (problems.length > 0) throw new ConfigError(problems.toSorted(byPlace(config.file)));

  const mappings = built.flatMap(({ mapping }) => mapping ?? []);
  const slow = opened.senders.flatMap(findSlowTransforms);
  const warnings = [...built.flatMap((mapping) => mapping.warnings), ...findShadowed(mappings), ...slow];
  return {
    ...opened,
    generation,
    readAt,
    builtAt: Date.now(),
    config,
    doors: createDoors({
      tokens: config.hooks.tokens,
      senders: opened.senders.filter(({ hook }) => !isBuiltInHook(hook)),
      takesTokens: (hook) =>
        mappings.some(({ credential, match: { path: at } }) => !credential && (!at || at === hook)),
      publicUrl: config.gateway.publicUrl,
    }),
    drivers,
    mappings: createMappingIndex(mappings),
    limits: toRunLimits(mappings),
    warnings: [...read.warnings, ...warnings.map(place)],
    files: [...new Set([...read.files, ...built.flatMap(({ files }) => files)])],
  };
}

const MAX_SCHEMA_BYTES = 8 * 1024 * 1024;

interface BuiltMapping {
  mapping?: CompiledMapping;
  problems: ConfigProblem[];
  warnings: ConfigProblem[];
  files: string[];
}

/** `runner`: evaluates the transform's module once. `code`: the module's text, if it is not that of its file. */
export async function buildMapping(
  source: MappingSource,
  credential: string | undefined,
  { runner, code, cache }: { runner?: TransformRunner; code?: string; cache?: CodeCache },
): Promise<BuiltMapping> {
  const files: string[] = [];
  const problems: ConfigProblem[] = [];
  const readFile = (file: string): string => {
    files.push(file);
    return readRegularFile(file, MAX_SCHEMA_BYTES).toString("utf8");
  };

  const spec = toTransformSpec(source);
  if (spec) runner?.prepare();
  const compiled = spec && (await compileTransform(spec, { draft: code, cache }));
  problems.push(...(compiled?.problems ?? []));
  if (compiled?.bundle && runner) problems.push(...(await runner.check(compiled.bundle)));
  if (spec) files.push(spec.root);

  const mapping = compileMapping(source, { bundle: compiled?.bundle, credential, readFile });
  return { ...mapping, problems: [...problems.map(named(source)), ...mapping.problems], files };
}

function toTransformSpec({ mapping: { transform }, transformsDir }: MappingSource): TransformSpec | undefined {
  if (!transform) return undefined;
  return {
    file: path.resolve(transformsDir, transform.module),
    root: transformsDir,
    export: transform.export,
    timeoutMs: transform.timeoutMs ?? 1000,
    memoryMb: transform.memoryMb ?? 64,
    isolation: transform.isolation ?? "request",
    secrets: transform.secrets ?? {},
  };
}

/** A problem without a line in the transform's module is reported at the mapping. */
function named({ file, key }: MappingSource) {
  return (problem: ConfigProblem): ConfigProblem => ({
    ...problem,
    file: problem.line === undefined ? file : problem.file,
    key: problem.key ?? `${key}.transform.module`,
  });
}

interface Place {
  channel?: string;
  to?: string;
  key: string;
  file: string | undefined;
}

/** A recipient that is written in the configuration must have the form that its channel expects. */
function checkRecipients(places: Place[], channels: ReadonlyMap<string, ChannelDriver>): ConfigProblem[] {
  return places.flatMap(({ key, file, ...place }) => {
    const channel = channels.get(toChannelName(staticText(place.channel) ?? ""));
    const to = staticText(place.to)?.trim();
    if (!channel || !to) return [];
    try {
      channel.checkRecipient(to);
      return [];
    } catch (error) {
      return { file, key: `${key}.to`, message: `this is no recipient for ${channel.name}. ${messageOf(error)}` };
    }
  });
}
