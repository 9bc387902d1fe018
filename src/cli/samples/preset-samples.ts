import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { PRESETS_FOLDER } from "../../config/presets/file.ts";
import type { Preset } from "../../config/schema/generated.ts";
import { ConfigError } from "../../errors.ts";
import { parseExact } from "../../shared/exact-json.ts";
import { readPath } from "../../shared/json.ts";
import { didYouMean } from "../../shared/text.ts";
import { listSamples, type Sample } from "./sample.ts";

export interface PresetSample extends Sample {
  /** The sender's name of the event; undefined: it has none. */
  event?: string;
  payload: unknown;
}

/** Long numbers keep their text (`ExactNumber`). */
export function readPresetSamples(preset: string): PresetSample[] {
  const folder = path.join(PRESETS_FOLDER, preset, "samples");
  return (existsSync(folder) ? listSamples(folder) : []).map(({ name, file }) => {
    const payload = parseExact(readFileSync(`${file}.json`, "utf8"));
    const expected = `${file}.expected.json`;
    const event = existsSync(expected) ? readPath(JSON.parse(readFileSync(expected, "utf8")), ["event"]) : undefined;
    return { name, file, payload, ...(typeof event === "string" && { event }) };
  });
}

/** Throws a `ConfigError` that names the samples if there is none of this name. */
export function requirePresetSample(preset: string, name: string): Sample {
  const samples = listSamples(path.join(PRESETS_FOLDER, preset, "samples"));
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
