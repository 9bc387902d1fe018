import { existsSync, type FSWatcher, readdirSync, rmSync, statfsSync, statSync, watch, writeFileSync } from "node:fs";
import path from "node:path";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import { messageOf } from "../../core/errors.ts";
import { orElse, tryFolder } from "../../core/shared/system/files.ts";
import { settlesWithin } from "../../core/shared/time.ts";
import { silentLog } from "../../core/telemetry/log.ts";
import type { findPoolProblem, PoolUse } from "../../stores/postgres/pooler.ts";
import { findDamage } from "../../stores/sqlite/database.ts";
import { isUpgradeCopy } from "../../stores/sqlite/upgrade-copy.ts";
import { findConfinement } from "../../core/transforms/sandbox/spawn.ts";
import { causeOf } from "../context.ts";

export interface CheckResult {
  /** The subject of the check, or the key of the configuration that is wrong. */
  name: string;
  /** note: it could not be checked, or is for information. */
  level: "ok" | "note" | "problem";
  message: string;
  /** The fix of a problem. */
  next?: string;
}

export function ok(name: string, message: string): CheckResult {
  return { name, level: "ok", message };
}

export function note(name: string, message: string): CheckResult {
  return { name, level: "note", message };
}

export function problem(name: string, message: string, next: string): CheckResult {
  return { name, level: "problem", message, next };
}

const MB = 1024 ** 2;
/** SQLite needs room for its log beside the journal, and a migration for a copy of it. */
const MIN_FREE_BYTES = 500 * MB;

export function checkStateFolder(folder: string): CheckResult {
  if (!existsSync(folder)) {
    const parent = nearestFolder(folder);
    if (isUsable(folder)) return ok("state folder", `${folder} is created at the first start`);
    const next = `give this user the right to write to ${parent}`;
    return problem("state folder", `${folder} cannot be created in ${parent}`, next);
  }
  const { mode } = statSync(folder);
  if (!isUsable(folder)) {
    return problem("state folder", `${folder} is not writable`, `chown -R $(id -un) ${folder}`);
  }
  if ((mode & 0o077) !== 0) {
    const open = `${folder} has mode ${(mode & 0o777).toString(8)}: other users can read what was received`;
    return problem("state folder", open, `chmod 700 ${folder}`);
  }
  return ok("state folder", folder);
}

export function checkJournal(folder: string): CheckResult {
  const file = path.join(folder, "journal.db");
  if (!existsSync(file)) return ok("journal", `${file} is created at the first start`);
  const damage = findDamage(file);
  if (damage === undefined) return ok("journal", "its file is whole");
  return problem("journal", `${file} is damaged: ${damage}`, "stop the service and restore a backup, on another disk");
}

const COPY_DAYS = 30;

/** Copies that a start made before it migrated a file. */
export function checkCopies(folder: string): CheckResult[] {
  const names = orElse([], () => readdirSync(folder)).filter(isUpgradeCopy);
  const before = Date.now() - COPY_DAYS * 24 * 60 * 60 * 1000;
  const old = names.filter((name) => statSync(path.join(folder, name)).mtimeMs < before);
  return old.map((name) =>
    note(
      "journal",
      `${path.join(folder, name)} is a copy of an upgrade more than ${COPY_DAYS} days ago: it can be removed`,
    ),
  );
}

function isUsable(folder: string): boolean {
  return orElse(false, () => (tryFolder(folder), true));
}

export function checkDisk(folder: string): CheckResult {
  const { bavail, bsize } = statfsSync(nearestFolder(folder));
  return checkSpace(bavail * bsize, folder);
}

export function checkSpace(freeBytes: number, folder: string): CheckResult {
  const free = `${Math.floor(freeBytes / MB).toLocaleString("en")} MB free`;
  if (freeBytes >= MIN_FREE_BYTES) return ok("disk", free);
  const next = "make room, or set store.retention.maxAge or maxBytes; a full disk answers every hook with 503";
  return problem("disk", `${free} for ${folder}, fewer than ${MIN_FREE_BYTES / MB}`, next);
}

/** How long a change may take to be reported, on a busy machine. */
const REPORT_MS = 2000;

/** Creates a file in the folder and waits for the report of it, as the service would. */
export async function checkWatcher(folder: string): Promise<CheckResult> {
  let watcher: FSWatcher;
  const file = path.join(folder, `.hookline-doctor-${process.pid}`);
  const reported = Promise.withResolvers<void>();
  try {
    watcher = watch(folder, (_event, name) => name === path.basename(file) && reported.resolve());
  } catch (error) {
    const next =
      "sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512; until then files are polled";
    return problem("watcher", `files cannot be watched: ${messageOf(error)}`, next);
  }
  const startedAt = performance.now();
  try {
    writeFileSync(file, "", { flag: "wx" });
  } catch (error) {
    watcher.close();
    return note("watcher", `how soon changes are noticed was not measured: ${messageOf(error)}`);
  }
  const isReported = await settlesWithin(reported.promise, REPORT_MS);
  const ms = Math.max(1, Math.round(performance.now() - startedAt));
  watcher.close();
  rmSync(file, { force: true });
  if (isReported) return ok("watcher", `the change of a file in ${folder} was reported after ${ms} ms`);
  const cause = `the file system of ${folder} reported no change of a file within ${REPORT_MS / 1000} s`;
  return note("watcher", `${cause}, so changes are noticed when the files are compared, every 2 s`);
}

export async function checkSandbox(): Promise<CheckResult> {
  const words = await findConfinement();
  if (words.includes("--net")) return ok("sandbox", "transforms run without a network");
  if (process.platform !== "linux")
    return note("sandbox", `transforms have no network namespace on ${process.platform}`);
  const next =
    "allow unshare to create user and network namespaces: in Docker by another seccomp profile, on Ubuntu with sysctl kernel.apparmor_restrict_unprivileged_userns=0; the other limits of the sandbox still apply";
  return problem("sandbox", "the system does not allow processes without a network", next);
}

/** The folder itself, or the nearest one above it that exists. */
export function nearestFolder(folder: string): string {
  return existsSync(folder) ? folder : nearestFolder(path.dirname(folder));
}

const ANSWER_MS = 5000;
/** Signatures with a timestamp are usually refused after five minutes. */
const MAX_CLOCK_MS = 60_000;

/** The database and the public address, if there are any, and this machine's clock beside theirs. */
export async function checkRemote({ store, gateway: { publicUrl } }: ResolvedConfig): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  let clock: CheckResult | undefined;
  if (store.postgres) {
    try {
      clock = compareClock(await askDatabase(store.postgres.url), "the database");
      results.push(ok("database", "PostgreSQL answers"));
      const pool = await askPooler(store.postgres);
      if (pool) results.push(problem("store.leaseUrl", pool.message, pool.next));
    } catch (error) {
      const next = "check store.url, that the database runs, and that it accepts this machine";
      results.push(problem("store.url", messageOf(error), next));
    }
  }
  if (publicUrl !== undefined) {
    try {
      const aheadMs = await askPublic(publicUrl);
      clock ??= compareClock(aheadMs, publicUrl);
    } catch (error) {
      const message = `no answer from ${publicUrl}: ${causeOf(error)}`;
      results.push(problem("gateway.publicUrl", message, "check the DNS name, the proxy and the firewall"));
    }
  }
  const isAsked = store.postgres !== undefined || publicUrl !== undefined;
  const unchecked = isAsked ? "nothing answered" : "neither store.url nor gateway.publicUrl is set";
  return [...results, clock ?? note("clock", `not compared: ${unchecked}`)];
}

/** `aheadMs`: by how much the clock is ahead of this machine's. */
export function compareClock(aheadMs: number, whose: string): CheckResult {
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (Math.abs(aheadMs) <= MAX_CLOCK_MS) return ok("clock", `within ${seconds + 1} s of that of ${whose}`);
  const message = `${seconds} s ${aheadMs > 0 ? "behind" : "ahead of"} that of ${whose}`;
  return problem("clock", message, "synchronize the machine's clock (NTP): signatures with a timestamp are refused");
}

/** Compares the answer with this machine's clock at the middle of the question. */
async function measureAhead(ask: () => Promise<number>): Promise<number> {
  const before = Date.now();
  const there = await ask();
  return there - (before + Date.now()) / 2;
}

/** Imported late, as what asks the database: other commands start without its driver. */
export async function askPooler(use: PoolUse): ReturnType<typeof findPoolProblem> {
  const pooler = await import("../../stores/postgres/pooler.ts");
  return pooler.findPoolProblem(use);
}

async function askDatabase(url: string): Promise<number> {
  const { createDatabase } = await import("../../stores/postgres/database.ts");
  const database = createDatabase({ url, maxConnections: 1, commitTimeoutMs: ANSWER_MS, log: silentLog });
  try {
    return await measureAhead(async () => {
      const row = await database.read((sql) => sql.get("SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now"));
      return Number(row?.["now"]);
    });
  } finally {
    await database.close();
  }
}

function askPublic(publicUrl: string): Promise<number> {
  return measureAhead(async () => {
    const response = await fetch(`${publicUrl}/healthz`, { method: "HEAD", signal: AbortSignal.timeout(ANSWER_MS) });
    // To the whole second: on average half of one is missing.
    return Date.parse(response.headers.get("date") ?? new Date().toUTCString()) + 500;
  });
}
