import type { Schema } from "./database.ts";
import { VERSION_1 } from "./version-1.ts";

/** The last time that is known of a run or delivery that waits. */
export const TRIED = "max(due_at, coalesce(started_at, 0))";

/**
 * FULL: a commit returns once the write-ahead log is on disk. `cache_size` is in KiB: a larger cache would fill with pages
 * that are not read again. `journal_size_limit` is the size in bytes to which a long log is truncated.
 */
const PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA cache_size = -4096;
  PRAGMA journal_size_limit = 67108864;
`;

export const JOURNAL_SCHEMA: Schema = {
  what: "journal",
  migrations: [VERSION_1],
  pragmas: PRAGMAS,
  // 8000 pages. The longer the log, the fewer copies to the file of a page that many commits change.
  logBytes: 8000 * 4096,
};
