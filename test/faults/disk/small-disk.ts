import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** A small separate filesystem. */
export interface SmallDisk {
  folder: string;
  /** Leaves no byte free. */
  fill(): void;
  /** Frees the space that `fill` used. */
  free(): void;
  /** Fails while a file on it is open for writing. */
  makeReadOnly(): void;
  remove(): void;
}

/** Mounting requires root, and a system that allows it. */
export function canMount(): boolean {
  try {
    mountDisk(1).remove();
    return true;
  } catch {
    return false;
  }
}

/** Mounts a filesystem in memory. */
export function mountDisk(megabytes: number): SmallDisk {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-disk-"));
  const ballast = path.join(folder, "ballast");
  try {
    mount("-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder);
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
  return {
    folder,
    fill: () => fill(ballast),
    free: () => rmSync(ballast),
    makeReadOnly: () => mount("-o", "remount,ro", folder),
    remove() {
      execFileSync("umount", [folder]);
      rmSync(folder, { recursive: true });
    },
  };
}

function mount(...args: string[]): void {
  execFileSync("mount", args, { stdio: "pipe" });
}

function fill(file: string): void {
  const descriptor = openSync(file, "w");
  try {
    for (;;) writeSync(descriptor, Buffer.alloc(4096));
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith("ENOSPC")) throw error;
  } finally {
    closeSync(descriptor);
  }
}
