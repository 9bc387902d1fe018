import { existsSync, readdirSync, statfsSync } from "node:fs";
import path from "node:path";
import { measure, ROOM, toHomes } from "../../agents/workspace/home.ts";
import { toMirrors } from "../../agents/workspace/mirror.ts";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import { messageOf } from "../../core/errors.ts";
import { orElse, tryFolder } from "../../core/shared/system/files.ts";
import { formatCount } from "../format.ts";
import { type CheckResult, nearestFolder, ok, problem } from "./doctor-machine.ts";

const NAME = "workspaces";
const MB = 1024 ** 2;

/** Whether the repositories of workspaces can be fetched, and the room that they have and take. */
export async function checkWorkspaces({
  hooks: { mappings },
  store,
}: Pick<ResolvedConfig, "hooks" | "store">): Promise<CheckResult[]> {
  const withFiles = mappings.filter(({ mapping }) => mapping.workspace);
  if (withFiles.length === 0) return [];
  const mirrors = toMirrors(store.path);
  try {
    tryFolder(mirrors);
  } catch (error) {
    const next = `give this user the right to write to ${nearestFolder(mirrors)}`;
    return [problem(NAME, `no repository can be fetched into ${mirrors}: ${messageOf(error)}`, next)];
  }
  const { bavail, bsize } = statfsSync(nearestFolder(mirrors));
  const free = bavail * bsize;
  if (free < ROOM.free) {
    const message = `${format(free)} free for ${mirrors}: a turn is ended if fewer than ${format(ROOM.free)} are`;
    return [problem(NAME, message, "make room, or set store.path to a folder on another disk")];
  }
  const homes = orElse([], () => readdirSync(store.path)).map((name) => toHomes(path.join(store.path, name)));
  const [fetched, ofSessions] = [await sum([mirrors]), await sum(homes)];
  const sizes = `repositories ${format(fetched)}, sessions ${format(ofSessions)}, ${format(free)} free`;
  return [ok(NAME, `${formatCount(withFiles.length, "mapping")}; ${sizes}`)];
}

async function sum(folders: string[]): Promise<number> {
  let bytes = 0;
  for (const folder of folders) if (existsSync(folder)) bytes += await measure(folder, Infinity);
  return bytes;
}

function format(bytes: number): string {
  return `${Math.ceil(bytes / MB).toLocaleString("en")} MB`;
}
