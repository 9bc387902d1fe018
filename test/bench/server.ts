import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const TICKS_PER_SECOND = 100;

/** Sums over a process and all its descendants. */
export interface Usage {
  cpuSeconds: number;
  residentMb: number;
}

export interface BenchServer {
  /** From the spawn to the first 2xx. */
  startSeconds: number;
  usage(): Usage;
  /** The hook's URL. */
  url: string;
  /** The credential. */
  headers: Record<string, string>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface BenchServerOptions {
  command: string[];
  env?: Record<string, string>;
  /** Default: read from the line `Listening on …`. */
  url?: string;
  hookPath: string;
  headers: Record<string, string>;
  payload: string;
}

/** Starts a server as a separate process and waits for its first 2xx. */
export async function startServer({
  command,
  env,
  url,
  hookPath,
  headers,
  payload,
}: BenchServerOptions): Promise<BenchServer> {
  const spawnedAt = performance.now();
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const hookUrl = `${url ?? (await readUrl(child))}${hookPath}`;
  child.stdout?.resume();
  await firstSuccess(hookUrl, headers, payload);
  return {
    url: hookUrl,
    headers,
    startSeconds: (performance.now() - spawnedAt) / 1000,
    usage: () => usageOf(child.pid ?? 0),
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      await once(child, "exit");
    },
  };
}

async function readUrl(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /Listening on (\S+)/.exec(line)?.[1];
    if (url) return url;
  }
  throw new Error("the server did not print its address");
}

export async function firstSuccess(url: string, credential: Record<string, string>, body: string): Promise<void> {
  for (let attempt = 0; attempt < 2500; attempt += 1) {
    const headers = { ...credential, "content-type": "application/json" };
    const response = await fetch(url, { method: "POST", headers, body }).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.ok) return;
    await sleep(2);
  }
  throw new Error(`${url} never answered 2xx`);
}

/** Waits until it has used less than a tenth of a core for a second. */
export async function untilIdle(usage: () => Usage): Promise<void> {
  for (let before = usage().cpuSeconds; ;) {
    await sleep(1000);
    const after = usage().cpuSeconds;
    if (after - before < 0.1) return;
    before = after;
  }
}

/** The process and its descendants, read from /proc. */
function descendants(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (/^\d+$/.test(name)) parents.set(Number(name), Number(statFields(Number(name))[1] ?? 0));
  }
  const found = [pid];
  for (const parent of found) {
    for (const [child, itsParent] of parents) if (itsParent === parent) found.push(child);
  }
  return found;
}

/** The usage of a process and its descendants. User and system time of ended children count with their parent. */
export function usageOf(root: number, counts: (pid: number) => boolean = () => true): Usage {
  let ticks = 0;
  let kilobytes = 0;
  for (const pid of descendants(root).filter(counts)) {
    const fields = statFields(pid);
    ticks += [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at] ?? 0), 0);
    kilobytes += proportionalKilobytes(pid);
  }
  return { cpuSeconds: ticks / TICKS_PER_SECOND, residentMb: kilobytes / 1024 };
}

/** Resident memory; a page that several processes share counts once, divided among them. */
function proportionalKilobytes(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** The fields of /proc/<pid>/stat from the third on: state, parent, … */
function statFields(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}
