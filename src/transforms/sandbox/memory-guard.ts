import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { PROGRESS_BYTES } from "./protocol.ts";

const MIB = 1024 * 1024;
/** How much address space a child may take beyond what it has when it is ready. */
const ADDRESS_SPACE_BYTES = 2048 * MIB;
/** What each loaded module may hold at rest: its isolate is 1 to 2 MB. */
const MODULE_BYTES = 4 * MIB;
/** Growth beyond that from which on a child is better replaced. */
const BLOAT_BYTES = 128 * MIB;
/** Growth beyond that which ends the child, beside what the job that runs may have. */
const BURST_BYTES = 192 * MIB;
const FRESH_MS = 40;

/**
 * Watches what a child holds: V8's own limit for an isolate is not asked by every allocator. Where the system does not
 * tell (only Linux does) it watches nothing, and V8's limit stands alone.
 */
export interface MemoryGuard {
  /** The child is ready: what it holds now is its measure. */
  begin(): void;
  /** True where the child holds more than its modules and a job that may have `memoryMb` can explain. */
  isExceeded(modules: number, memoryMb: number): boolean;
  /** True where the child has grown beyond what its modules explain. */
  isBloated(modules: number): boolean;
}

export function createMemoryGuard(pid: number | undefined): MemoryGuard {
  let baseline: number | undefined;
  let growth = 0;
  let readAt = 0;

  /** Growth since `begin` in bytes, not older than `FRESH_MS`; 0 where it cannot be told. */
  function readGrowth(): number {
    const now = performance.now();
    if (pid === undefined || baseline === undefined || now - readAt < FRESH_MS) return growth;
    readAt = now;
    growth = (readMemory(pid)?.residentBytes ?? baseline) - baseline;
    return growth;
  }

  return {
    begin() {
      const use = pid === undefined ? undefined : readMemory(pid);
      baseline = use?.residentBytes;
      if (use) limitAddressSpace(pid!, use.virtualBytes + ADDRESS_SPACE_BYTES);
    },
    isExceeded: (modules, memoryMb) => readGrowth() > modules * MODULE_BYTES + BURST_BYTES + memoryMb * MIB,
    isBloated: (modules) => readGrowth() > modules * MODULE_BYTES + BLOAT_BYTES,
  };
}

function readMemory(pid: number): { virtualBytes: number; residentBytes: number } | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return { virtualBytes: readKib(status, "VmSize") * 1024, residentBytes: readKib(status, "VmRSS") * 1024 };
  } catch {
    return undefined;
  }
}

function readKib(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]);
}

/**
 * The kernel then refuses what the watch would come too late for, and writes no core files of what was refused.
 * A system without the tool goes without.
 */
function limitAddressSpace(pid: number, bytes: number): void {
  execFile("prlimit", ["--pid", String(pid), `--as=${bytes}`, `--fsize=${PROGRESS_BYTES}`, "--core=0"], () => {});
}
