import { readFileSync } from "node:fs";

/** Whether a process of this id is at work; a zombie that nobody has waited for yet is not. */
export function isRunning(pid: string): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
