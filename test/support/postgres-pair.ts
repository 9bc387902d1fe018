import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

/** A server and its synchronous standby: each commit waits until both have it. */
export interface PostgresPair {
  primary(): PostgresServer;
  /** The standby stops; the commits of the other wait for it. */
  cutOff(): Promise<void>;
  /** The first server is gone, and its standby takes its place, alone. */
  promote(): Promise<void>;
  /** A new standby follows. */
  complete(): Promise<void>;
  /** The URL of a new database. */
  createUrl(): Promise<string>;
  remove(): Promise<void>;
}

/** The standby fetches what was written since it was copied. */
const FLAGS = ["-c", "wal_keep_size=1GB"];

export async function startPostgresPair({ durable = true } = {}): Promise<PostgresPair> {
  let primary = await startPostgres({ durable, flags: FLAGS });
  let standby: PostgresServer | undefined;
  return {
    primary: () => primary,
    createUrl: () => primary.createUrl(),
    cutOff: () => standby!.stop("immediate"),
    async promote() {
      await primary.remove();
      primary = standby!;
      standby = undefined;
      await primary.start();
      await query(primary, "SELECT pg_promote()");
    },
    async complete() {
      standby = await startPostgres({ durable, flags: FLAGS, standbyOf: primary });
      while ((await query(primary, "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'")) === 0) {
        await sleep(50);
      }
      await query(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'");
      await query(primary, "SELECT pg_reload_conf()");
      while ((await query(primary, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")) === 0) {
        await sleep(50);
      }
    },
    async remove() {
      await standby?.remove();
      await primary.remove();
    },
  };
}

async function query({ port }: PostgresServer, sql: string): Promise<number> {
  const client = new Client(`postgres://postgres:secret@127.0.0.1:${port}/postgres`);
  await client.connect();
  try {
    return (await client.query(sql)).rowCount ?? 0;
  } finally {
    await client.end();
  }
}
