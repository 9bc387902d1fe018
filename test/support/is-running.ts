import { readFileSync } from "node:fs";

/** Whether a process with this id is running and is not a zombie. */
export function isRunning(pid: string): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
