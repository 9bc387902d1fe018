import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "pg";
import { waitFor } from "../support/client.ts";
import type { PostgresServer } from "../support/postgres-server.ts";
import { type Databases, withTables } from "../support/postgres-setup.ts";
import { findFreePort } from "./find-free-port.ts";

const PASSWORD = "secret";

/** Debian's PostgreSQL on loopback, with all its files in a temporary folder. */
export async function startDebianPostgres(): Promise<PostgresServer> {
  const folder = createFolder("hookline-debian-postgres-");
  const data = path.join(folder, "data");
  const port = await findFreePort();
  const passwordFile = path.join(folder, "password");
  writeFileSync(passwordFile, PASSWORD);
  const initdb = ["-D", data, "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync", "-A", "scram-sha-256"];
  execFileSync(path.join(findPrograms(), "initdb"), [...initdb, `--pwfile=${passwordFile}`], {
    ...owner(),
    stdio: ["ignore", "ignore", "pipe"],
  });
  let child: ChildProcess;
  await start();
  return { port, data, pid: () => child.pid, createUrl, stop, start, remove };

  async function start(): Promise<void> {
    const settings = {
      listen_addresses: "127.0.0.1",
      port,
      unix_socket_directories: "",
      max_connections: 200,
      fsync: "off",
      full_page_writes: "off",
      // Autovacuum would go through hundreds of databases that nobody uses any more.
      autovacuum: "off",
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    child = spawn(path.join(findPrograms(), "postgres"), ["-D", data, ...flags], { ...owner(), stdio: "ignore" });
    await untilReady(child, toUrl(port, "postgres"));
  }

  async function createUrl(template = "template1"): Promise<string> {
    const name = `hookline_${randomBytes(6).toString("hex")}`;
    await runSql(toUrl(port, "postgres"), `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
    return toUrl(port, name);
  }

  function stop(mode: "fast" | "immediate"): Promise<void> {
    return end(child, mode === "fast" ? "SIGINT" : "SIGQUIT");
  }

  async function remove(): Promise<void> {
    await stop("immediate");
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Debian's PgBouncer before Debian's PostgreSQL. */
export async function startPgBouncer(): Promise<Databases> {
  const postgres = await startDebianPostgres();
  const databases = await withTables(postgres);
  const bouncer = await startBouncerBefore(postgres.port);
  return {
    async createUrl() {
      const url = new URL(await databases.createUrl());
      url.port = String(bouncer.port);
      return url.href;
    },
    async remove() {
      await bouncer.remove();
      await databases.remove();
    },
  };
}

/** Debian's PgBouncer in transaction mode before the PostgreSQL on this port. */
export async function startBouncerBefore(
  postgresPort: number,
  { poolSize = 8, showsSettings = false }: { poolSize?: number; showsSettings?: boolean } = {},
): Promise<{ port: number; remove(): Promise<void> }> {
  const folder = createFolder("hookline-pgbouncer-");
  const port = await findFreePort();
  const config = path.join(folder, "pgbouncer.ini");
  writeFileSync(path.join(folder, "users"), `"postgres" "${PASSWORD}"\n`);
  writeFileSync(
    config,
    `[databases]
* = host=127.0.0.1 port=${postgresPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${path.join(folder, "users")}
pool_mode = transaction
max_client_conn = 500
default_pool_size = ${poolSize}
${showsSettings ? "stats_users = postgres" : ""}
server_idle_timeout = 2
server_login_retry = 1
logfile = ${path.join(folder, "log")}
`,
  );
  const child = spawn("/usr/sbin/pgbouncer", [config], { ...owner(), stdio: "ignore" });
  await untilReady(child, toUrl(port, "postgres"));
  return {
    port,
    async remove() {
      await end(child, "SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const PROGRAMS = "/usr/lib/postgresql";

/** The folder of the newest version that is installed. */
function findPrograms(): string {
  const newest = readdirSync(PROGRAMS).toSorted((a, b) => Number(b) - Number(a))[0];
  if (newest === undefined) throw new Error(`there is no PostgreSQL in ${PROGRAMS}`);
  return path.join(PROGRAMS, newest, "bin");
}

/** Neither program runs as root. Debian's package creates the user. */
function owner(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const [, , uid, gid] = /^postgres:.*$/m.exec(readFileSync("/etc/passwd", "utf8"))?.[0].split(":") ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

function createFolder(prefix: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), prefix));
  const { uid, gid } = owner();
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

function toUrl(port: number, database: string): string {
  return `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${database}`;
}

async function runSql(url: string, sql: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

async function untilReady(child: ChildProcess, url: string): Promise<void> {
  const isReady = () =>
    runSql(url, "SELECT 1").then(
      () => true,
      () => false,
    );
  await waitFor(async () => child.exitCode !== null || (await isReady()), `${child.spawnfile} to answer`);
  if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill(signal);
  await exit;
}
