import { JournalUnavailable } from "./port.ts";

const LOCKED = 5;

/** SQLite's primary result codes that speak of the storage, not of the statement. */
const STORAGE_CODES = new Map([
  [LOCKED, "it is locked by another process"],
  [6, "it is locked"],
  [7, "memory is short"],
  [8, "it is read-only"],
  [10, "the disk reports an error"],
  [11, "the file is damaged"],
  [13, "the disk is full"],
  [14, "the file cannot be opened"],
  [15, "its lock cannot be taken"],
  [26, "the file is no database"],
]);

/** The error as a `JournalUnavailable` where the storage is to blame, else undefined. */
export function toUnavailable(error: unknown): JournalUnavailable | undefined {
  const reason = STORAGE_CODES.get(primaryCode(error));
  return reason === undefined
    ? undefined
    : new JournalUnavailable(`the journal cannot be used: ${reason}`, { cause: error });
}

/** True where another connection holds the lock. */
export function isLocked(error: unknown): boolean {
  return primaryCode(error) === LOCKED;
}

/** The low byte of SQLite's extended code; 0 for errors that are not SQLite's. */
function primaryCode(error: unknown): number {
  return error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : 0;
}
