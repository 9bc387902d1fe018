import { closeSync, fsyncSync, openSync, renameSync, rmSync, statfsSync } from "node:fs";
import path from "node:path";
import { ConfigError, messageOf } from "../../core/errors.ts";
import { integer } from "../../core/journal/columns.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { type BeforeMigration, createPrivately, type Database } from "./database.ts";

/**
 * Copies a file before a migration changes it: `journal.v1.db` beside `journal.db`, which an earlier program can open. The
 * copy is whole and on disk, or not there; an earlier copy of the same version is replaced. Throws a `ConfigError` if there is
 * no room.
 */
export function copyAndLog(log: Log): BeforeMigration {
  return (database, file, version) => {
    const copy = toCopyName(file, version);
    const partial = `${copy}-partial`;
    try {
      rmSync(partial, { force: true });
      requireRoom(database, file);
      createPrivately(partial);
      database.run("VACUUM INTO ?", partial);
      sync(partial);
      renameSync(partial, copy);
      sync(path.dirname(copy));
    } catch (error) {
      rmSync(partial, { force: true });
      const message =
        `this program changes the tables of the file, and cannot write the copy of it that it makes before ` +
        `(${messageOf(error)}); make room and start again: nothing was changed`;
      throw new ConfigError([{ message, file: copy, key: "store.path" }]);
    }
    log.warn("the file was copied before this version changes it: to go back, put the copy in its place", {
      file,
      copy,
    });
  };
}

/** `journal.db` becomes `journal.v1.db`. */
function toCopyName(file: string, version: number): string {
  const { dir, name, ext } = path.parse(file);
  return path.join(dir, `${name}.v${version}${ext}`);
}

/** True for the names of such copies. */
export function isUpgradeCopy(name: string): boolean {
  return /^(?:journal|mail)\.v\d+\.db$/.test(name);
}

function requireRoom({ get }: Database, file: string): void {
  const { bavail, bsize } = statfsSync(path.dirname(file));
  const bytes = integer(get("PRAGMA page_count")?.page_count) * integer(get("PRAGMA page_size")?.page_size);
  if (bavail * bsize < bytes) throw new Error(`it needs ${bytes} bytes, and ${bavail * bsize} are free`);
}

/** Else a power cut can undo what was written, or a new name. */
export function sync(fileOrFolder: string): void {
  const descriptor = openSync(fileOrFolder, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}
