/**
 * How many pages of PostgreSQL a claim reads, by the number of mappings that have due runs and of runs that are running:
 * mappings take turns, which must not cost more than 1.25 times the claim in order of arrival before. Alone:
 * `node test/bench/claim.ts`.
 */
import { Client } from "pg";
import { createPostgresJournal, type PostgresJournal } from "../../src/stores/postgres/postgres.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { NOW, nextId, sampleEvent, sampleOutcome, sampleRun } from "../contracts/journal/samples.ts";
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts";

/** `byArrival`: the pages of the claim before, which had no turns. */
const ROWS = [
  { mappings: 1, running: 8, waiting: 200, byArrival: { one: 134, four: 149 } },
  { mappings: 5, running: 8, waiting: 50, byArrival: { one: 160, four: 219 } },
  { mappings: 20, running: 16, waiting: 50, byArrival: { one: 400, four: 536 } },
  { mappings: 50, running: 60, waiting: 20, byArrival: { one: 853, four: 1173 } },
];
const CLAIMS = 20;
const FINISHED = 100;

const server = await startPostgres({ durable: false });
for (const row of ROWS) {
  const { mappings, running, waiting, byArrival } = row;
  const pages = await measure(server, row);
  const ratio = { one: pages.one / byArrival.one, four: pages.four / byArrival.four };
  console.log({ mappings, running, waiting }, "in turns", pages, "by arrival", byArrival, "ratio", ratio);
}
await server.remove();

/** Pages of one claim of one run, and of one of four. */
async function measure(
  { createUrl }: PostgresServer,
  { mappings, running, waiting }: (typeof ROWS)[number],
): Promise<{ one: number; four: number }> {
  const url = await createUrl();
  const options = { url, maxConnections: 1, commitTimeoutMs: 60_000, telemetry: silentTelemetry };
  const journal = await createPostgresJournal({ ...options, pollMs: 3_600_000, firstLeaseMs: 3_600_000 });
  const database = new Client(url);
  await database.connect();
  for (let mapping = 0; mapping < mappings; mapping++) {
    const accept = () => journal.accept(sampleEvent({ mapping: `m${mapping}`, actions: [sampleRun(nextId())] }));
    await Promise.all(Array.from({ length: waiting + FINISHED }, accept));
  }
  for (let finished = 0; finished < FINISHED; finished += CLAIMS) {
    await Promise.all((await journal.claimRuns(CLAIMS, NOW)).map((run) => journal.completeRun(run, sampleOutcome())));
  }
  await database.query("VACUUM ANALYZE hookline.runs");
  const active = await journal.claimRuns(running, NOW);

  const pagesOf = async (limit: number): Promise<number> => {
    let pages = 0;
    for (let claim = 0; claim < CLAIMS; claim++) {
      const before = await readPages(journal, database);
      const claimed = await journal.claimRuns(limit, NOW);
      const after = await readPages(journal, database);
      // Reading the statistics reads pages too.
      pages += 2 * after - before - (await readPages(journal, database));
      active.push(...claimed);
      for (const run of active.splice(0, claimed.length)) await journal.completeRun(run, sampleOutcome());
    }
    return Math.round(pages / CLAIMS);
  };
  const pages = { one: await pagesOf(1), four: await pagesOf(4) };
  await database.end();
  await journal.close();
  return pages;
}

/** A connection writes its statistics at the end of a transaction. */
async function readPages(journal: PostgresJournal, database: Client): Promise<number> {
  await journal.commit(({ run }) => run("SELECT pg_stat_force_next_flush()"));
  const { rows } = await database.query<{ pages: string }>(
    `SELECT sum(coalesce(heap_blks_hit, 0) + coalesce(heap_blks_read, 0) + coalesce(idx_blks_hit, 0)
       + coalesce(idx_blks_read, 0)) AS pages FROM pg_statio_user_tables`,
  );
  return Number(rows[0]?.pages);
}
