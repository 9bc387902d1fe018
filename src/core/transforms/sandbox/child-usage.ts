import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";

/** Most jobs end before: until then, no file is read. */
const EXACT_FROM_MS = 10;
/** The longest tick that counts: in a longer one this process itself was blocked, and the answer may be here unread. */
const MAX_TICK_MS = 50;
/** The least share of a tick that counts: a child that waits for something other than a CPU must end too. */
const MIN_SHARE = 0.1;

/**
 * How long a child has worked on its job. Only Linux reports how long it had a CPU; elsewhere all time counts. On a busy
 * machine a child waits for a CPU, and a harmless job would look as if it were stuck.
 */
export interface JobClock {
  /** In milliseconds. */
  age(): number;
  /** The next job begins. */
  restart(): void;
  advance(elapsedMs: number): void;
}

export function createJobClock(pid: number | undefined): JobClock {
  let age = 0;
  /** The child's CPU time at the last tick, once that is read. */
  let cpuMs: number | undefined;

  return {
    age: () => age,
    restart() {
      age = 0;
      cpuMs = undefined;
    },
    advance(elapsedMs) {
      const tickMs = Math.min(elapsedMs, MAX_TICK_MS);
      const isExact = age + tickMs > EXACT_FROM_MS;
      const now = isExact ? readCpuMs(pid) : undefined;
      if (now === undefined) age += tickMs;
      else if (cpuMs === undefined) age = Math.max(age, EXACT_FROM_MS) + 1;
      else age += Math.min(tickMs, Math.max(now - cpuMs, MIN_SHARE * tickMs));
      cpuMs = now;
    },
  };
}

/** The processor time that the thread which runs the jobs has used. */
function readCpuMs(pid: number | undefined): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  } catch {
    return undefined;
  }
}

const MIB = 1024 * 1024;
/** Address space that a child may take beyond what it has when it is ready. */
const ADDRESS_SPACE_BYTES = 2048 * MIB;
/** Memory of a loaded module at rest: its isolate takes 1 to 2 MB. */
const MODULE_BYTES = 4 * MIB;
/** Growth beyond the modules from which a child should be replaced. */
const BLOAT_BYTES = 128 * MIB;
/** Growth beyond the modules and the running job's limit that ends the child. */
const BURST_BYTES = 192 * MIB;
const FRESH_MS = 40;

/**
 * Watches the memory of a child, because not every allocation counts toward V8's limit of an isolate. Only Linux reports
 * it; elsewhere V8's limit is the only one.
 */
export interface MemoryGuard {
  /** Takes the present memory as the baseline. */
  begin(): void;
  /** The child has more memory than its modules and a job that may have `memoryMb` explain. */
  isExceeded(modules: number, memoryMb: number): boolean;
  /** The child has more memory than its modules explain. */
  isBloated(modules: number): boolean;
}

/** `asUser`: the words to put before a command so that it may limit the child. */
export function createMemoryGuard(pid: number | undefined, asUser: string[]): MemoryGuard {
  let baseline: number | undefined;
  let growth = 0;
  let readAt = 0;

  /** In bytes since `begin`, at most `FRESH_MS` old; 0 if it is unknown. */
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
      if (use) limitAddressSpace(pid!, use.virtualBytes + ADDRESS_SPACE_BYTES, asUser);
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

/** The kernel stops growth that polling would notice too late, and writes no files. Does nothing without `prlimit`. */
function limitAddressSpace(pid: number, bytes: number, asUser: string[]): void {
  const [command, ...words] = [...asUser, "prlimit", "--pid", String(pid), `--as=${bytes}`, "--fsize=0", "--core=0"];
  execFile(command, words, () => {});
}
