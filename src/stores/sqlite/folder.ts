import { accessSync, constants, existsSync, statSync } from "node:fs";
import path from "node:path";
import { ConfigError, JournalUnavailable, messageOf } from "../../core/errors.ts";
import { createFolder } from "../../core/shared/system/files.ts";
import { type Owner, readOwner, removeOwner, toServiceAddress, writeOwner } from "../../core/shared/system/owner.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { takeLock } from "./database.ts";

/** How long to wait for the lock of a process that was just killed. */
const HANDOVER_MS = 500;
const CHECK_LOCK_MS = 1000;

/** A service has used the folder that has one. */
export const LOCK_FILE = "owner.lock";

/** Creates the state folder. Throws a `ConfigError` if that fails. */
export function makeFolder(folder: string, log: Log): void {
  try {
    createFolder(folder, 0o700);
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw toConfigError(folder, "the state folder cannot be created or written to", error);
  }
  // An existing folder keeps its mode: it may be shared on purpose.
  if ((statSync(folder).mode & 0o077) !== 0) log.warn("other users can access the state folder", { folder });
}

/** A state folder that belongs to this process alone. */
export interface OwnedFolder {
  /**
   * Gives a function that throws `JournalUnavailable` once one of these open files was removed or replaced, or another
   * process owns the folder: then nothing that is written is kept.
   */
  guard(files: string[], log: Log): () => void;
  release(): void;
}

/**
 * Locks the folder. The lock is a file beside `journal.db`, so that other processes can still read the journal. Throws a
 * `ConfigError` if another process has it.
 */
export function ownFolder(folder: string): OwnedFolder {
  const file = path.join(folder, LOCK_FILE);
  let lock = requireLock(file);
  writeOwner(folder);
  let identity = identityOf(file);
  let timer: NodeJS.Timeout | undefined;
  let isLost = false;

  return {
    guard(files, log) {
      const opened = new Map(files.map((each) => [each, identityOf(each)]));
      timer = setInterval(() => keepLock(log), CHECK_LOCK_MS).unref();
      return () => {
        if (isLost) throw unavailable("another process has taken over the state folder: restart this service");
        const changed = files.find((each) => identityOf(each) !== opened.get(each));
        if (changed !== undefined) {
          throw unavailable(
            `${changed} cannot be read, or was removed or replaced: put it back, or restart this service`,
          );
        }
      };
    },
    release() {
      clearInterval(timer);
      try {
        if (!isLost) removeOwner(folder);
      } finally {
        lock.release();
      }
    },
  };

  /** Without the file, a second service would start on this folder. */
  function keepLock(log: Log): void {
    identity ??= identityOf(file);
    if (isLost || identityOf(file) === identity) return;
    try {
      const again = takeLock(file, 0);
      if (again) {
        lock.release();
        lock = again;
        identity = identityOf(file);
        log.warn("owner.lock was removed or replaced, and is locked again", { file });
      } else {
        isLost = true;
        log.error("another process has taken over the state folder: restart this service", { file });
      }
    } catch {
      // The folder is away.
    }
  }
}

function unavailable(reason: string): JournalUnavailable {
  return new JournalUnavailable(`the journal cannot be used: ${reason}`);
}

/** Undefined if there is no such file, or the file system reports an error. */
function identityOf(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}

/** The record of the process that owns the folder; undefined if none does: after a crash the record is outdated. */
export function findOwner(folder: string): Owner | undefined {
  const file = path.join(folder, LOCK_FILE);
  try {
    const free = existsSync(file) ? takeLock(file, 0) : undefined;
    free?.release();
    return free ? undefined : readOwner(folder);
  } catch {
    return undefined;
  }
}

function requireLock(file: string): { release(): void } {
  let lock: ReturnType<typeof takeLock>;
  try {
    lock = takeLock(file, HANDOVER_MS);
  } catch (error) {
    throw toConfigError(file, "the state folder cannot be used", error);
  }
  if (lock) return lock;
  const owner = readOwner(path.dirname(file));
  const service = owner?.service && `, at ${toServiceAddress(owner.service)}`;
  const who = owner && ` (process ${owner.pid}, started ${owner.startedAt}${service ?? ""})`;
  const message = `The folder is in use: another process owns this state folder${who ?? ""}. Stop it, or set another folder.`;
  throw new ConfigError([{ message, file, key: "store.path" }]);
}

export function toConfigError(file: string, what: string, error: unknown): ConfigError {
  return new ConfigError([{ message: `${what} (${messageOf(error)})`, file, key: "store.path" }]);
}
