import { statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { tsImport } from "tsx/esm/api";

export interface ImportedModule {
  exports: unknown;
  /** The files it was read from, absolute. */
  files: string[];
}

/**
 * Imports a package or a module, JavaScript or TypeScript, as if a file in `baseDir` did. It is read anew, with all that it
 * imports, when a file of it has changed since the last time. Rejects with whatever kept it from loading.
 */
export async function importModule(specifier: string, baseDir: string): Promise<ImportedModule> {
  const place = JSON.stringify([specifier, baseDir]);
  const known = imported.get(place);
  if (known && isCurrent(known)) return known;
  const fresh = await importAnew(specifier, baseDir);
  imported.set(place, fresh);
  return fresh;
}

interface Import extends ImportedModule {
  /** Milliseconds since the epoch, before the first file was read. */
  startedAt: number;
}

/** A module stays in memory for the life of the process, so one that is unchanged is not imported for each reload. */
const imported = new Map<string, Import>();

/** File systems keep times more coarsely than clocks do. */
const CLOCK_SLACK_MS = 10;

function isCurrent({ files, startedAt }: Import): boolean {
  return files.every((file) => {
    const stats = statSync(file, { throwIfNoEntry: false });
    return stats !== undefined && stats.ctimeMs < startedAt - CLOCK_SLACK_MS;
  });
}

async function importAnew(specifier: string, baseDir: string): Promise<Import> {
  const startedAt = Date.now();
  const files = new Set<string>();
  const exports: unknown = await tsImport(specifier, {
    parentURL: pathToFileURL(path.join(baseDir, "config")).href,
    onImport: (url) => {
      if (url.startsWith("file:")) files.add(fileURLToPath(url));
    },
    tsconfig: false,
  });
  return { exports, files: [...files], startedAt };
}
