import { readdirSync, readFileSync } from "node:fs";

/** The sandbox processes that a process has started and that have not ended. */
export function sandboxProcessesOf(parent: number): number[] {
  // `/proc/<pid>/task/<tid>/children` may leave out a process while others start or end; the folder does not.
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => readProcess(pid, "status").includes(`\nPPid:\t${parent}\n`))
    .filter((pid) => readProcess(pid, "cmdline").includes("child.cjs"));
}

/** A file of `/proc/<pid>`. Empty if the process has ended. */
export function readProcess(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
