import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { resolveUserConfig } from "../../core/config/load.ts";
import { parseSource } from "../../core/config/parse/source.ts";
import { type PresetPlace, readPreset } from "../../core/config/presets/file.ts";
import type { Preset } from "../../core/config/schema/generated.ts";
import { readSchema } from "../../core/config/schema/validator.ts";
import { ConfigError, messageOf } from "../../core/errors.ts";
import { resolveRequest } from "../../core/mapping/resolve-request.ts";
import { runTrial } from "../../operator/trial.ts";
import type { Runtime } from "../../core/ports/runtime.ts";
import { parseExact } from "../../core/shared/exact-json.ts";
import { isObject, readPath } from "../../core/shared/json.ts";
import { orElse } from "../../core/shared/system/files.ts";
import { DEFAULT_TIME, listSampleNames } from "../../core/shared/system/samples.ts";
import { didYouMean } from "../../core/shared/text/text.ts";
import type { TransformRunner } from "../../core/transforms/runner.ts";
import type { LogLine } from "../../core/types.ts";

/**
 * A transform with its samples: `<name>.ts`, `<name>.samples/` and, if it needs one, `<name>.mapping.json`; or a preset:
 * `<name>/preset.json` and `<name>/samples/`.
 */
export interface SampleSet {
  /** The folder in which it was found, absolute. */
  folder: string;
  /** Relative to the folder, without an extension: `ci/triage`. */
  name: string;
  /** The folder of the preset, absolute; undefined: a transform. */
  preset?: string;
  /** Relative too; undefined if there is no module beside the samples. */
  module?: string;
  /** Absolute; undefined: the mapping consists of the transform alone. */
  mappingFile?: string;
  samples: Sample[];
}

/**
 * One request and the actions expected of it: `<file>.json` is the body, `<file>.request.json` may hold
 * `{ headers?, query?, now? }`, `<file>.expected.json` holds the expectation and is missing at first.
 */
export interface Sample {
  name: string;
  /** Absolute, without an extension. */
  file: string;
}

/** How a sample ended. `unexpected` without `expected`: nothing has been recorded yet. */
export type SampleResult = { log: LogLine[]; durationMs: number } & (
  | { kind: "passed" }
  | { kind: "updated" }
  | { kind: "unexpected"; given: Expectation; expected: Expectation | undefined }
  | { kind: "failed"; reason: string }
);

/** The actions without their defaults; with the name and the subject of the event, if it has them, and the reason if it is skipped. */
export type Expectation = object[] | { event?: string; subject?: string; actions: object[]; reason?: string };

const MODULE_EXTENSIONS = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"];

/** The samples below folders, each once. A folder inside another one has its own, under their names there. */
export function findAllSamples(folders: readonly string[]): SampleSet[] {
  const isInside = (name: string, folder: string): boolean => name.startsWith(folder + path.sep);
  return folders.flatMap((folder) => {
    const inner = folders.filter((other) => isInside(other, folder));
    return findSamples(folder).filter(({ name, preset = path.join(folder, name) }) =>
      inner.every((other) => preset !== other && !isInside(preset, other)),
    );
  });
}

/** The samples below a folder, in the order of their names. */
export function findSamples(folder: string): SampleSet[] {
  const exclude = (name: string): boolean => name === "node_modules";
  const presets = globSync("**/preset.json", { cwd: folder, exclude })
    .toSorted()
    .map((file) => {
      const preset = path.dirname(path.resolve(folder, file));
      return { folder, name: path.basename(preset), preset, samples: listSamples(path.join(preset, "samples")) };
    });
  const found = globSync("**/*.samples/", { cwd: folder, exclude });
  const transforms = found.toSorted().map((samplesFolder) => {
    const name = samplesFolder.slice(0, -".samples".length);
    const mappingFile = path.join(folder, `${name}.mapping.json`);
    const modules = MODULE_EXTENSIONS.map((extension) => name + extension);
    return {
      folder,
      name,
      module: modules.find((module) => existsSync(path.join(folder, module))),
      mappingFile: existsSync(mappingFile) ? mappingFile : undefined,
      samples: listSamples(path.join(folder, samplesFolder)),
    };
  });
  return [...transforms, ...presets];
}

/** The samples of these names. No name chooses all. */
export function selectSamples(sets: SampleSet[], names: string[]): SampleSet[] {
  if (names.length === 0) return sets;
  const isChosen = isNamed(names);
  return sets
    .map((set) => ({ ...set, samples: set.samples.filter((sample) => isChosen(set, sample)) }))
    .filter(({ samples }) => samples.length > 0);
}

/** Whether one of the names means the sample: the name of its transform, as `ci`, or its own, as `ci/failed`. */
export function isNamed(names: string[]): (set: SampleSet, sample: Sample) => boolean {
  return (set, { name }) => names.some((wanted) => `${set.name}/${name}/`.startsWith(`${wanted}/`));
}

/** The samples of one folder, by name. */
function listSamples(folder: string): Sample[] {
  return listSampleNames(folder).map((name) => ({ name, file: path.join(folder, name) }));
}

export interface RunOptions {
  runtime: Runtime;
  runner: TransformRunner;
  /** Records the actual actions as the expected ones. */
  update: boolean;
}

/**
 * Runs one sample through mapping, transform and policy, as the service would, and compares. Throws a `ConfigError` or a
 * `HookError` when the sample's own files are wrong.
 */
export async function runSample({ file }: Sample, options: RunOptions): Promise<SampleResult> {
  const { runtime, runner } = options;
  const body = readFileSync(`${file}.json`, "utf8");
  const { headers, query, receivedAt } = readRequest(`${file}.request.json`);
  const payload = parsePayload(`${file}.json`, body);
  const hook = runtime.mappings.mappings[0]?.match.path;
  const trial = await runTrial({ hook, payload, headers, query }, runtime, {
    // A sample must pass wherever its transform is used, whatever channels are configured there.
    resolve: (request) => resolveRequest(request, { ...runtime, channels: undefined, run: runner.run }),
    sent: { rawBody: Buffer.from(body), receivedAt },
  });
  const { log, durationMs } = trial;
  if (!trial.ok) return { kind: "failed", reason: trial.detail ?? trial.error, log, durationMs };
  const given = toExpectation(trial, body);
  const expected = readExpected(`${file}.expected.json`, body);
  if (isDeepStrictEqual(given, expected)) return { kind: "passed", log, durationMs };
  if (!options.update) return { kind: "unexpected", given, expected, log, durationMs };
  writeFileSync(`${file}.expected.json`, `${JSON.stringify(given, undefined, 2)}\n`);
  return { kind: "updated", log, durationMs };
}

/** The part of a sample's request beside its body. Throws a `ConfigError` if the file is not as expected. */
export function readRequest(file: string): { headers: unknown; query: unknown; receivedAt: number } {
  const value = readIfPresent(file) ?? {};
  if (!isObject(value)) throw new ConfigError([{ file, message: "Expected an object of headers, query and now." }]);
  const { headers, query, now = DEFAULT_TIME }: Record<string, unknown> = value;
  const receivedAt = typeof now === "string" ? Date.parse(now) : Number.NaN;
  if (!Number.isNaN(receivedAt)) return { headers, query, receivedAt };
  throw new ConfigError([{ file, key: "now", message: `Expected a time like "${DEFAULT_TIME}".` }]);
}

function parsePayload(file: string, body: string): unknown {
  try {
    return parseExact(body);
  } catch (error) {
    throw new ConfigError([{ file, message: `It is not valid JSON: ${messageOf(error)}.` }]);
  }
}

function readExpected(file: string, body: string): Expectation | undefined {
  const value = readIfPresent(file);
  if (value === undefined) return undefined;
  if (Array.isArray(value)) return toExpectation({ actions: value }, body);
  if (isObject(value)) return toExpectation(value, body);
  throw new ConfigError([{ file, message: "Expected a list of actions, or { event, subject, actions, reason }." }]);
}

function readIfPresent(file: string): unknown {
  return existsSync(file) ? parseSource(file, readFileSync(file, "utf8")).value : undefined;
}

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Defaults of an action that neither mapping nor transform has set; left out of the expectation. */
const toDefaults = (): Record<string, unknown> => ({
  mode: "now",
  wakeMode: "now",
  deliver: true,
  channel: "last",
  sessionKey: "hook:<uuid>",
  allowUnsafeExternalContent: false,
  timeoutSeconds: resolveUserConfig({}, { baseDir: "/" }).agents.timeoutSeconds,
});

/** The order in which fields are written; others come last. */
const ORDER = Object.keys(readSchema("action")["properties"] ?? {});

/**
 * A result in the form in which it is expected: short, and the same at each run. A random id, which is one that
 * the sample's `body` does not hold, stands as `<uuid>`.
 */
export function toExpectation(
  result: { event?: unknown; subject?: unknown; actions?: unknown; reason?: unknown },
  body: string,
): Expectation {
  const actions = toExpectedActions(result.actions, body);
  const { event, subject, reason } = result;
  if (typeof event !== "string" && typeof subject !== "string") return actions;
  return {
    ...(typeof event === "string" && { event }),
    ...(typeof subject === "string" && { subject }),
    actions,
    ...(typeof reason === "string" && { reason }),
  };
}

function toExpectedActions(actions: unknown, body: string): object[] {
  const text = JSON.stringify(actions).replace(UUID, (id) => (body.includes(id) ? id : "<uuid>"));
  const settled: unknown = JSON.parse(text);
  return Array.isArray(settled) ? settled.filter(isObject).map(withoutDefaults) : [];
}

function withoutDefaults(action: object): object {
  const defaults = toDefaults();
  const fields = Object.entries(action).filter(([name, value]) => defaults[name] !== value);
  return Object.fromEntries(fields.toSorted(([first], [second]) => orderOf(first) - orderOf(second)));
}

function orderOf(field: string): number {
  const index = ORDER.indexOf(field);
  return index === -1 ? ORDER.length : index;
}

/** The payloads of the samples in a folder, without those that cannot be read. Long numbers keep their text (`ExactNumber`). */
export function readPayloads(folder: string): unknown[] {
  return listSamples(folder).flatMap(({ file }) =>
    orElse([], () => [parseExact(readFileSync(`${file}.json`, "utf8"))]),
  );
}

export interface PresetSample extends Sample {
  /** The sender's name of the event; undefined: it has none. */
  event?: string;
  payload: unknown;
}

/** `place` as for `readPreset`. Long numbers keep their text (`ExactNumber`). */
export function readPresetSamples(place: string): PresetSample[] {
  return listSamples(path.join(readPreset(place).folder, "samples")).map(({ name, file }) => {
    const payload = parseExact(readFileSync(`${file}.json`, "utf8"));
    const expected = `${file}.expected.json`;
    const event = existsSync(expected) ? readPath(JSON.parse(readFileSync(expected, "utf8")), ["event"]) : undefined;
    return { name, file, payload, ...(typeof event === "string" && { event }) };
  });
}

/** Throws a `ConfigError` that names the samples if there is none of this name. */
export function requirePresetSample({ name: preset, folder }: PresetPlace, name: string): Sample {
  const samples = listSamples(path.join(folder, "samples"));
  const sample = samples.find((one) => one.name === name);
  if (sample) return sample;
  const names = samples.map((one) => one.name);
  const message = `The preset "${preset}" has no sample "${name}"${didYouMean(name, names, `; its samples are ${names.join(", ")}`)}`;
  throw new ConfigError([{ message }]);
}

/** The events of a preset that have a name without a wildcard: those that it knows, and those of its samples. */
export function listEvents({ events }: Preset, samples: readonly PresetSample[]): string[] {
  if (!events) return [];
  const known = events.known.filter((name) => !name.includes("*"));
  return [...new Set([...known, ...samples.flatMap(({ event }) => event ?? [])])].toSorted();
}
