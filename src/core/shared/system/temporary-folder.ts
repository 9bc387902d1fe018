import { mkdtempSync, readdirSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { codeOf, messageOf } from "../../errors.ts";
import { createFolder, isOpenToOthers } from "./files.ts";

/** Where a service has temporary files: in its state folder, which nodes with a database need not have. */
export function toTempDir(store: { path: string; postgres: object | undefined }): string {
  return store.postgres ? tmpdir() : path.join(store.path, "temporary");
}

/** Creates the folder for temporary files in a state folder. */
export function makeTempDir(stateDir: string): string {
  const folder = path.join(stateDir, "temporary");
  createFolder(folder, 0o700);
  return folder;
}

const FOLDER_NAME = /^hookline-(\d+)-(\d+)-/;

/** Creates this process's folder, and removes those of processes that were killed before they could. */
export function createTemporaryFolder(parent = tmpdir()): string {
  const own = readPidNamespace();
  for (const name of readdirSync(parent)) {
    const [, namespace, pid] = FOLDER_NAME.exec(name) ?? [];
    if (namespace === own && !isAlive(Number(pid))) removeIfAllowed(path.join(parent, name));
  }
  return mkdtempSync(path.join(parent, `hookline-${own}-${process.pid}-`));
}

/**
 * Creates this process's folder in the first of these that can hold it; `needsOthers`: preferably where other users can get to
 * it. Throws with the reason of each if none can.
 */
export function createFolderInAny(
  parents: readonly (() => string)[],
  { needsOthers }: { needsOthers: boolean },
): string {
  const reasons: string[] = [];
  const attempt = (isWanted: (parent: string) => boolean): string | undefined => {
    for (const find of parents) {
      try {
        const parent = find();
        if (isWanted(realpathSync(parent))) return createTemporaryFolder(parent);
      } catch (error) {
        reasons.push(messageOf(error));
      }
    }
    return undefined;
  };
  const folder = (needsOthers ? attempt(isOpenToOthers) : undefined) ?? attempt(() => true);
  if (folder !== undefined) return folder;
  throw new Error(`there is no temporary folder: ${[...new Set(reasons)].join("; ")}`);
}

/** Containers may share a folder, but number their processes separately. 0 if there is only one numbering. */
function readPidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  } catch {
    return "0";
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Another user's process cannot be signaled, but it exists.
    return codeOf(error) === "EPERM";
  }
}

function removeIfAllowed(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // The folder belongs to another user.
  }
}
