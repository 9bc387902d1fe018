import { globSync } from "node:fs";
import path from "node:path";

/** A sample gives the same result tomorrow: its request arrives at this time, unless it names another. */
export const DEFAULT_TIME = "2026-01-05T09:00:00.000Z";

/** The names of the samples in a folder: `<name>.json`, beside `<name>.request.json` and `<name>.expected.json`. */
export function listSampleNames(folder: string): string[] {
  return globSync("*.json", { cwd: folder })
    .filter((file) => !/\.(?:expected|request)\.json$/.test(file))
    .toSorted()
    .map((file) => path.basename(file, ".json"));
}
