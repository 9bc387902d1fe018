import { resultCode } from "../storage/result-code.ts";
import { JournalUnavailable } from "./port.ts";

/** SQLite's primary result codes that speak of the storage, not of the statement. */
const STORAGE_CODES = new Map([
  [5, "it is locked by another process"],
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
  const reason = STORAGE_CODES.get(resultCode(error));
  return reason === undefined
    ? undefined
    : new JournalUnavailable(`the journal cannot be used: ${reason}`, { cause: error });
}
