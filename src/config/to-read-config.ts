import type { ConfigProblem } from "../errors.ts";
import type { Examination } from "./examine.ts";
import type { Source } from "./parse.ts";
import type { Position } from "./parsed-text.ts";
import { toOrigin } from "./presets/load-presets.ts";
import type { ResolvedConfig } from "./resolved.ts";

/** A configuration with all that keeps it from being used. */
export interface ReadConfig {
  /** Without what has problems: good for looking on, good for use where there are none. */
  config: ResolvedConfig;
  problems: ConfigProblem[];
  warnings: ConfigProblem[];
  /**
   * Where a key stands, or the nearest thing around it that was written. `file`: a preset's; default: the
   * configuration's own.
   */
  locate(key: string, file?: string): Position | undefined;
  /** A problem that was found later, with its file and its place there. */
  place(problem: ConfigProblem): ConfigProblem;
  /** Every file that was read, absolute: what to watch. */
  files: string[];
}

/** Gives every problem its place: in the file that it names, else in the configuration's own. */
export function toReadConfig(examination: Examination, source?: Source): ReadConfig {
  const { config, problems, warnings, presets, origins, references } = examination;
  const sources = new Map([...(config.file && source ? [[config.file, source] as const] : []), ...presets]);
  const locate = (key: string, file = config.file): Position | undefined =>
    sources.get(file ?? "")?.locate(key);
  const place = (problem: ConfigProblem): ConfigProblem => {
    const file = problem.file ?? config.file;
    return { ...problem, file, ...locate(problem.key ?? "", file) };
  };
  return {
    config,
    problems: [...(source?.duplicates ?? []), ...problems.map(place)].toSorted(byPlace(config.file)),
    warnings: warnings.map(place).toSorted(byPlace(config.file)),
    locate,
    place: (problem) => place(toOrigin(problem, origins)),
    files: [...sources.keys(), ...references],
  };
}

/** As one reads: the configuration's own file first, from top to bottom. */
export function byPlace(first: string | undefined) {
  return (one: ConfigProblem, other: ConfigProblem): number =>
    Number(one.file !== first) - Number(other.file !== first) ||
    (one.line ?? 0) - (other.line ?? 0) ||
    (one.column ?? 0) - (other.column ?? 0);
}
