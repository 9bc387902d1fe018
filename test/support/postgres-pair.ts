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
      await withClient(primary, (client) => client.query("SELECT pg_promote()"));
    },
    async complete() {
      standby = await startPostgres({ durable, flags: FLAGS, standbyOf: primary });
      const streams = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'";
      const waits = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
      await withClient(primary, async (client) => {
        while ((await client.query(streams)).rowCount === 0) await sleep(50);
        await client.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
        await client.query("SELECT pg_reload_conf()");
        while ((await client.query(waits)).rowCount === 0) await sleep(50);
      });
    },
    async remove() {
      await standby?.remove();
      await primary.remove();
    },
  };
}

async function withClient({ port }: PostgresServer, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client(`postgres://postgres:secret@127.0.0.1:${port}/postgres`);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
