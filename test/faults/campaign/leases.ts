import { setTimeout as sleep } from "node:timers/promises";
import { Client as Database } from "pg";
import type { FaultBed, NodeFault } from "./node-faults.ts";

/** Leases of nodes that run which ended nevertheless. */
interface Lapses {
  times: number;
  /** The longest, until the node had renewed it. */
  longestMs: number;
}

export type LapsesByFault = Partial<Record<NodeFault, Lapses>>;

const EVERY_MS = 100;

/** Counts the leases that end, for the present fault, until `stop`. While the database is away it sees nothing. */
export function watchLeases(
  bed: Pick<FaultBed, "nodes" | "url">,
  fault: () => NodeFault,
): { lapses: LapsesByFault; stop(): Promise<void> } {
  const lapses: LapsesByFault = {};
  const ended = new Set<string>();
  const stopped = new AbortController();
  const done = watch();
  return {
    lapses,
    async stop() {
      stopped.abort();
      await done;
    },
  };

  async function watch(): Promise<void> {
    while (!stopped.signal.aborted) {
      const database = new Database({ connectionString: bed.url, query_timeout: 1000 });
      database.on("error", () => undefined);
      try {
        await database.connect();
        while (!stopped.signal.aborted) {
          await look(database);
          await sleep(EVERY_MS);
        }
      } catch {
        await sleep(EVERY_MS);
      } finally {
        await database.end().catch(() => undefined);
      }
    }
  }

  async function look(database: Database): Promise<void> {
    const running = bed.nodes.flatMap((node) => node?.id ?? []);
    const { rows } = await database.query<{ id: string; ms: number }>(ENDED, [running]);
    const current = (lapses[fault()] ??= { times: 0, longestMs: 0 });
    for (const { id, ms } of rows) {
      if (!ended.has(id)) current.times += 1;
      current.longestMs = Math.max(current.longestMs, ms);
    }
    if (current.times === 0) delete lapses[fault()];
    ended.clear();
    for (const { id } of rows) ended.add(id);
  }
}

const ENDED = `
  SELECT id, (hookline.now_ms() - until)::integer AS ms FROM hookline.nodes
  WHERE id = ANY($1::text[]) AND until <= hookline.now_ms()`;
