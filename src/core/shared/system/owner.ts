import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isThisMachine } from "../net/network.ts";
import { sameSecret } from "../secret.ts";

/** The record of the process that owns a state folder: for commands, and for a process that wants the folder too. */
export interface Owner {
  pid: number;
  /** ISO 8601. */
  startedAt: string;
  /** Once it listens. */
  service?: RunningService;
}

/** How a running service is called. */
interface RunningService {
  host: string;
  port: number;
  /** For the API and the hooks, from this machine. It ends with the process: a crash leaves no secret. */
  token: string;
  hooksPath: string;
}

const ownerToken = randomBytes(32).toString("hex");

/** Whether a request on this machine shows the token of this process's record. */
export function isOfOwner(given: string | Uint8Array, client: string): boolean {
  return sameSecret(given, ownerToken) && isThisMachine(client);
}

const fileIn = (folder: string): string => path.join(folder, "owner.json");

/** Only this user can read it. A full disk is no error: commands then have only the configuration. */
export function writeOwner(folder: string, address?: Omit<RunningService, "token">): void {
  const service = address && { ...address, token: ownerToken };
  const owner: Owner = { pid: process.pid, startedAt: new Date(performance.timeOrigin).toISOString(), service };
  try {
    removeOwner(folder);
    writeFileSync(fileIn(folder), JSON.stringify(owner), { flag: "wx", mode: 0o600 });
  } catch {
    // Nothing depends on it.
  }
}

export function removeOwner(folder: string): void {
  rmSync(fileIn(folder), { force: true });
}

/** undefined: there is none. */
export function readOwner(folder: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(fileIn(folder), "utf8"));
  } catch {
    return undefined;
  }
}

/** The URL of a running service; one that listens on every address is called on the loopback address. */
export function toServiceAddress({ host, port }: { host: string; port: number }): string {
  const reachable = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
