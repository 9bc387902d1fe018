import { execFileSync } from "node:child_process";

/** From now on every write of the process to a file fails (EFBIG, which SQLite reports as an I/O error). */
export function refuseWrites(pid: number): void {
  setFileSize(pid, "0:unlimited");
}

export function allowWrites(pid: number): void {
  setFileSize(pid, "unlimited");
}

function setFileSize(pid: number, limits: string): void {
  execFileSync("prlimit", ["--pid", String(pid), `--fsize=${limits}`]);
}
