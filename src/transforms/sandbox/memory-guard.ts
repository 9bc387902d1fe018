import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";

const MIB = 1024 * 1024;
/** How much address space a child may take beyond what it has when it is ready. */
const ADDRESS_SPACE_BYTES = 1024 * MIB;
/** How far its resident size may grow while a job runs, beside what the job itself may have. */
const BURST_BYTES = 192 * MIB;
/** From this growth on, a child that has nothing to do is better replaced. */
const BLOAT_BYTES = 160 * MIB;
const CHECK_EVERY_MS = 40;

/**
 * Watches what a child holds: V8's own limit for an isolate is not asked by every allocator. Where the system does not
 * tell (only Linux does) it watches nothing, and V8's limit stands alone.
 */
export interface MemoryGuard {
  /** The child is ready: what it holds now is its measure. */
  begin(): void;
  /** True where the child holds more than a job that may have `memoryMb` can explain. */
  isExceeded(memoryMb: number): boolean;
  /** True where a child at rest has grown for good. */
  isBloated(): boolean;
}

export function createMemoryGuard(pid: number | undefined): MemoryGuard {
  let baseline: number | undefined;
  let checkedAt = 0;

  /** Growth since `begin`, or undefined where that was asked a moment ago or cannot be told. */
  function readGrowth(everyMs: number): number | undefined {
    const now = performance.now();
    if (pid === undefined || baseline === undefined || now - checkedAt < everyMs) return undefined;
    checkedAt = now;
    const use = readMemory(pid);
    return use && use.residentBytes - baseline;
  }

  return {
    begin() {
      const use = pid === undefined ? undefined : readMemory(pid);
      baseline = use?.residentBytes;
      if (use) limitAddressSpace(pid!, use.virtualBytes + ADDRESS_SPACE_BYTES);
    },
    isExceeded: (memoryMb) => (readGrowth(CHECK_EVERY_MS) ?? 0) > BURST_BYTES + memoryMb * MIB,
    isBloated: () => (readGrowth(1000) ?? 0) > BLOAT_BYTES,
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
  execFile("prlimit", ["--pid", String(pid), `--as=${bytes}`, "--fsize=0", "--core=0"], () => {});
}
