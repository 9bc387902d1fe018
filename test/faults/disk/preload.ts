import { execFileSync } from "node:child_process";
import { closeSync, openSync, writeSync } from "node:fs";
import path from "node:path";

/** Numbers of Linux. */
const ERRNO = { EIO: 5, ENOSPC: 28 } as const;

/** Faults of the machine for processes that are started with `env`. */
export interface Preload {
  env: Record<string, string>;
  /** From now on writes and syncs of a journal fail; undefined: no more. */
  failWrites(error: keyof typeof ERRNO | undefined): void;
  /** By how much the clock is ahead of the real one. */
  setClock(aheadMs: number): void;
  close(): void;
}

/** Undefined without a C compiler, or elsewhere than on Linux. */
export function createPreload(folder: string): Preload | undefined {
  if (process.platform !== "linux") return undefined;
  const [library, file] = [path.join(folder, "preload.so"), path.join(folder, "faults")];
  try {
    execFileSync(
      "cc",
      ["-shared", "-fPIC", "-O1", "-o", library, path.join(import.meta.dirname, "preload.c"), "-ldl"],
      {
        stdio: "pipe",
      },
    );
  } catch {
    return undefined;
  }
  const descriptor = openSync(file, "w");
  const set = (position: number, value: number): void => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(value));
    writeSync(descriptor, bytes, 0, 8, position);
  };
  set(0, 0);
  set(8, 0);
  return {
    env: { LD_PRELOAD: library, HOOKLINE_FAULTS: file },
    failWrites: (error) => set(0, error === undefined ? 0 : ERRNO[error]),
    setClock: (aheadMs) => set(8, aheadMs),
    close: () => closeSync(descriptor),
  };
}
