import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { lstat, readdir, statfs } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { DriverError } from "../../core/errors.ts";
import { parseObject } from "../../core/shared/json.ts";
import { createFolder, orElse } from "../../core/shared/system/files.ts";

/** The folders of a session, and what the service notes beside them. */
export interface Home {
  /** Has `home`, `tmp` and `work`. */
  folder: string;
  state: HomeState;
  /** From now on the turn can change it. */
  begin(): void;
  /** The turn has ended well: its next one continues from what is here. */
  keep(state: HomeState): void;
  /** Nobody uses it any more. */
  close(): void;
}

export interface HomeState {
  /** The agent's own id of the session. */
  sessionId?: string;
  /** The cost of the session so far, as the agent counts it. */
  cost?: number;
  /** The model that it began with. */
  model?: string;
  /** The private sources of its turns. */
  sources?: string[];
  /** The run of its last turn. */
  runId?: string;
  /** That turn waits for a person, and the agent knows this number of its calls. */
  waiting?: { calls: number };
  /** The repository in `work`. */
  tree?: TreeState;
}

/** Where a turn begins. */
export interface Start {
  commit: string;
  /** The branch that a pull request is for. */
  base: string;
  /** Where the change goes. Absent: no change is offered. */
  branch?: string;
  /** The head of the branch. Absent: there is no such branch yet. */
  head?: string;
}

/** The notes on a session's tree, beside it. */
export interface TreeState extends Start {
  account: string;
  repository: string;
  /** The commit that a turn has offered, whose files the tree has. */
  offered?: string;
  /** Files differ from `commit`, and nothing of it was pushed. */
  isChanged?: boolean;
}

/** The folder of all homes, in the state folder of a provider. */
export function toHomes(stateDir: string): string {
  return path.join(stateDir, "homes");
}

/** Folders that turns use now, or that are being removed. */
const busy = new Set<string>();

/**
 * The home of a session, emptied if the session is new, or if its last turn did not end well: a file marks each turn from its
 * `begin` until it has. A turn of the same run was an attempt whose result was lost, so nothing of it is kept either. A turn that
 * waited for a person goes on in what it left, which is nothing to another run.
 * `idleMs`: homes that nobody used for so long are removed.
 */
export async function openHome(
  stateDir: string,
  sessionKey: string,
  { runId, isNew, keepsWork, idleMs }: { runId: string; isNew: boolean; keepsWork: boolean; idleMs: number },
): Promise<Home> {
  const homes = toHomes(stateDir);
  createFolder(homes, 0o700);
  const folder = path.join(homes, createHash("sha256").update(sessionKey).digest("hex").slice(0, 32));
  busy.add(folder);
  await removeIdle(homes, idleMs);
  const marker = path.join(folder, "turn");
  const stateFile = path.join(folder, "state.json");
  const { runId: last, waiting } = readState(stateFile);
  const isKept = waiting ? last === runId : !isNew && last !== runId;
  if (!isKept || existsSync(marker)) await removeTree(folder);
  for (const name of keepsWork ? ["tmp"] : ["tmp", "work"]) await removeTree(path.join(folder, name));
  for (const name of ["home", "tmp", "work"]) createFolder(path.join(folder, name), 0o700);
  return {
    folder,
    state: readState(stateFile),
    begin: () => writeFileSync(marker, ""),
    keep(state) {
      writeFileSync(stateFile, JSON.stringify(state), { mode: 0o600 });
      rmSync(marker, { force: true });
    },
    close: () => void busy.delete(folder),
  };
}

function readState(file: string): HomeState {
  return parseObject(orElse("", () => readFileSync(file, "utf8")));
}

async function removeIdle(homes: string, idleMs: number): Promise<void> {
  for (const name of await readdir(homes)) {
    const folder = path.join(homes, name);
    if (busy.has(folder)) continue;
    const lastUse = orElse(undefined, () => statSync(path.join(folder, "tmp")).mtimeMs);
    if (lastUse === undefined || Date.now() - lastUse > idleMs) await removeTree(folder);
  }
}

const run = promisify(execFile);

/** Removes also what is nested deeper than a path can be long, and folders that the program has closed to its user. */
export async function removeTree(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  // Mostly it is empty, which needs no program.
  if (orElse(false, () => rmdirSync(folder) === undefined)) return;
  const aside = path.join(path.dirname(folder), `removed-${randomUUID()}`);
  busy.add(aside);
  renameSync(folder, aside);
  const remove = (): Promise<unknown> => run("rm", ["-rf", "--", aside]);
  await remove().catch(async () => {
    await run("chmod", ["-R", "u+rwx", "--", aside]).catch(() => {});
    await remove();
  });
  busy.delete(aside);
}

/** Sizes in bytes, and how often they are measured. */
export const ROOM = { free: 1_000_000_000, used: 2 * 1024 ** 3, everyMs: 5000 };

/** Calls `end` once the disk is nearly full, or the session has used its share. Returns what stops the watch. */
export function watchRoom(
  folder: string,
  end: (error: DriverError) => void,
  room = ROOM,
  what = "The agent",
): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const look = async (): Promise<void> => {
    const problem = await findNoRoom(folder, room).catch(() => undefined);
    if (isStopped) return;
    if (problem !== undefined) return end(new DriverError(`${what} was ended: ${problem}.`, { retryable: false }));
    timer = setTimeout(() => void look(), room.everyMs);
  };
  timer = setTimeout(() => void look(), room.everyMs);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

async function findNoRoom(folder: string, room: typeof ROOM): Promise<string | undefined> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < room.free) return "under 1 GB of the disk is free";
  const used = await measure(folder, room.used);
  return used > room.used ? "its files have over 2 GiB" : undefined;
}

/** The room that a folder takes on the disk, or more than `enough`. Files that vanish meanwhile are left out. */
export async function measure(folder: string, enough: number): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const file = path.join(folder, entry.name);
    bytes += entry.isDirectory() ? await measure(file, enough - bytes) : await sizeOf(file);
    if (bytes > enough) break;
  }
  return bytes;
}

async function sizeOf(file: string): Promise<number> {
  const { blocks } = await lstat(file).catch(() => ({ blocks: 0 }));
  return blocks * 512;
}
