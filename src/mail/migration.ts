import { readdirSync } from "node:fs";
import path from "node:path";
import { ConfigError } from "../core/errors.ts";
import { copyOf, type Source } from "../stores/migration/source.ts";
import { bytes } from "../core/journal/columns.ts";
import { type Lock, takeLock } from "../stores/sqlite/database.ts";
import { openMailFile } from "./store.ts";

/**
 * The tables of the mail store in a state folder, for the migration to PostgreSQL; none if there is no mail store. No process
 * can watch a mailbox until the returned function is called. Throws a `ConfigError` if one does.
 */
export function openMailSources(folder: string): { sources: Source[]; close(): void } {
  const locks = lockMailboxes(folder);
  const release = (): void => locks.forEach((lock) => lock.release());
  try {
    const database = openMailFile(folder);
    if (!database) return { sources: [], close: release };
    const sources = [
      copyOf(database, "folders", { key: ["mailbox", "folder"], to: "mail_folders" }),
      copyOf(database, "known", {
        key: ["seq"],
        to: "mail_known",
        change: ({ seq = null, digest }) => ({ seq, digest: bytes(digest).toString("hex") }),
      }),
      copyOf(database, "set_aside", { key: ["mailbox", "folder", "id"], to: "mail_set_aside" }),
      copyOf(database, "refresh_tokens", {
        key: ["mailbox"],
        to: "mail_refresh_tokens",
        change: (row) => ({ ...row, configured: bytes(row.configured).toString("hex") }),
      }),
    ];
    return {
      sources,
      close() {
        database.close();
        release();
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** Each watch of a mailbox holds one of these files. */
function lockMailboxes(folder: string): Lock[] {
  const locks: Lock[] = [];
  for (const name of readdirSync(folder).filter((each) => /^mail-[\da-f]+\.lock$/.test(each))) {
    const lock = takeLock(path.join(folder, name), 0);
    if (lock) locks.push(lock);
    else {
      for (const each of locks) each.release();
      const message = "another process watches a mailbox: stop `npx hookline mail run` first";
      throw new ConfigError([{ message, file: path.join(folder, name), key: "store.path" }]);
    }
  }
  return locks;
}
