import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const NAME = /^hookline-(\d+)-(\d+)-/;

/** Makes a folder of this process's own, and clears away those of processes that were killed before they could. */
export function createTemporaryFolder(parent = tmpdir()): string {
  const space = readProcessSpace();
  for (const name of readdirSync(parent)) {
    const [, itsSpace, pid] = NAME.exec(name) ?? [];
    if (itsSpace === space && !isAlive(Number(pid))) clear(path.join(parent, name));
  }
  return mkdtempSync(path.join(parent, `hookline-${space}-${process.pid}-`));
}

/** Containers may share a folder, but not their numbers of processes: which numbering ours is; 0 where there is but one. */
function readProcessSpace(): string {
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
    // Someone else's may not be signalled, but is there.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function clear(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Another user's.
  }
}
