import path from "node:path";
import type { ConfigProblem, FoundProblem } from "../errors.ts";
import type { Located } from "./parse/source.ts";
import type { ReadParts } from "./read-parts.ts";
import { hideValues } from "./references.ts";

export interface Places {
  /** Adds the file, by default that of the key, and the position of the key there, to a problem that has none. */
  place(problem: FoundProblem): ConfigProblem;
  /** The same for several, in reading order. */
  placeAll(problems: FoundProblem[]): ConfigProblem[];
  /** Whether a file is one of the configuration, or nothing says which. */
  isOwn(file: string | undefined): boolean;
}

/** `sources`: also those of other files, which may be added later. */
export function createPlaces(
  { merged: { find, references }, sources, partFiles }: ReadParts,
  { file: main, baseDir }: { file?: string; baseDir: string },
): Places {
  return { place, placeAll: (problems) => problems.map(place).toSorted(byPlace(main)), isOwn };

  function isOwn(file: string | undefined): boolean {
    return file === undefined || file === main || partFiles.includes(file);
  }

  function place(problem: FoundProblem): ConfigProblem {
    const { other, ...hidden } = hideValues(problem, references);
    if (hidden.line !== undefined) return hidden;
    const named = other && partFiles.length > 0 ? withPlace(hidden, other) : hidden;
    if (!isOwn(named.file) || named.key === undefined) {
      const file = named.file ?? main;
      return { ...named, file, ...locate(sources, file, named.key) };
    }
    const { file, key } = find(named.key);
    return { ...named, file, key, ...locate(sources, file, key) };
  }

  function withPlace(problem: ConfigProblem, { key, text }: NonNullable<FoundProblem["other"]>): ConfigProblem {
    const origin = find(key);
    const { line, column } = locate(sources, origin.file, origin.key) ?? {};
    const at = [path.relative(baseDir, origin.file ?? ""), line, column].join(":");
    return { ...problem, message: problem.message.replace(text ?? key, () => `${text ?? origin.key} in ${at}`) };
  }
}

function locate(sources: ReadonlyMap<string, Located>, file: string | undefined, key = "") {
  return sources.get(file ?? "")?.locate(key);
}

/** In reading order: the configuration's own file first, each from top to bottom. */
export function byPlace(first: string | undefined) {
  return (one: ConfigProblem, other: ConfigProblem): number =>
    Number(one.file !== first) - Number(other.file !== first) ||
    (one.file ?? "").localeCompare(other.file ?? "", "en") ||
    (one.line ?? 0) - (other.line ?? 0) ||
    (one.column ?? 0) - (other.column ?? 0);
}
