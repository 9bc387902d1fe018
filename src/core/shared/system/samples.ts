import { globSync } from "node:fs";
import path from "node:path";

/** The names of the samples in a folder: `<name>.json`, beside `<name>.request.json` and `<name>.expected.json`. */
export function listSampleNames(folder: string): string[] {
  return globSync("*.json", { cwd: folder })
    .filter((file) => !/\.(?:expected|request)\.json$/.test(file))
    .toSorted()
    .map((file) => path.basename(file, ".json"));
}
