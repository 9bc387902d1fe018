import { isId } from "../../shared/id.ts";
import type { Page, RunFilter, WorkCounts } from "../journal.ts";
import type { Delivery } from "../records/delivery.ts";
import type { Claim } from "../records/node.ts";
import type { Pause, Run, RunWait, Spend } from "../records/run.ts";
import type { Step } from "../records/step.ts";
import { integer, text, type Row } from "../columns.ts";
import * as rows from "../rows.ts";
import { countEach, listPage, ofStates, type Reader } from "./reader.ts";

export async function listRuns(reader: Reader, page: Page & RunFilter): Promise<Run[]> {
  const { state, hook, mapping, sessionKey, group } = page;
  const found = await listPage(reader, reader.tables.runs, page, [
    ofStates(state),
    ["hook =", hook],
    ["mapping =", mapping],
    ["session_key =", sessionKey],
    ["error_group =", group],
  ]);
  return toWaitingRuns(reader, found);
}

/** With what each of them waits for. */
export async function toWaitingRuns(reader: Reader, found: Row[]): Promise<Run[]> {
  const runs = found.map((row) => rows.toRun(row, reader.clockOffsetMs));
  const isReady = ({ state }: Run): boolean => state === "ready";
  const queued = runs.filter(({ state }) => state === "queued");
  if (queued.length === 0 && !runs.some(isReady)) return runs;
  const paused = new Set((await listPauses(reader)).map(({ mapping }) => mapping));
  const firsts = await readFirsts(
    reader,
    queued.map(({ sessionKey }) => sessionKey),
  );
  return runs.map((run, index) => {
    const mapping = text(found[index]?.mapping);
    if (isReady(run)) return paused.has(mapping) ? { ...run, waitsFor: { kind: "paused", mapping } } : run;
    const first = run.state === "queued" ? firsts.get(run.sessionKey) : undefined;
    return first ? { ...run, waitsFor: toWait(first, paused) } : run;
  });
}

interface First {
  run: Run;
  mapping: string;
}

/** The first unfinished run of each session. */
async function readFirsts({ all, tables }: Reader, sessions: string[]): Promise<Map<string, First>> {
  if (sessions.length === 0) return new Map();
  const found = await all(
    `SELECT * FROM ${tables.runs} WHERE session_key = ANY($1::text[]) AND finished_at IS NULL AND state <> 'queued'`,
    [sessions],
  );
  return new Map(
    found.map((row) => [
      text(row.session_key),
      { run: rows.toRun({ ...row, action: null }), mapping: text(row.mapping) },
    ]),
  );
}

function toWait({ run: { id, eventId, state, holdReason }, mapping }: First, paused: ReadonlySet<string>): RunWait {
  const first = { runId: id, eventId, holdReason };
  if (state === "held") return { kind: "held", ...first };
  return state === "ready" && paused.has(mapping) ? { kind: "paused", ...first, mapping } : { kind: "turn", ...first };
}

export async function getRun(reader: Reader, id: string): Promise<Run | undefined> {
  const { get, tables } = reader;
  const row = isId(id) ? await get(`SELECT * FROM ${tables.runs} WHERE id = $1`, [id]) : undefined;
  return row && (await withFailedAttempts(reader, await toWaitingRuns(reader, [row])))[0];
}

/** Adds the last failed attempts to runs or deliveries. */
export async function withFailedAttempts<Work extends Run | Delivery>({ all }: Reader, works: Work[]): Promise<Work[]> {
  const found = await all("SELECT * FROM hookline.failed_attempts WHERE work_id = ANY($1::uuid[]) ORDER BY n", [
    works.map(({ id }) => id),
  ]);
  if (found.length === 0) return works;
  const attempts = Map.groupBy(found, (row) => text(row.work_id));
  return works.map((work) => ({ ...work, failedAttempts: attempts.get(work.id)?.map(rows.toFailedAttempt) }));
}

/** Both stores keep the token of the last claim. */
export async function isClaimed({ get }: Reader, { id, token }: Claim): Promise<boolean> {
  const claimed = "SELECT 1 AS found FROM hookline.runs WHERE id = $1 AND claims = $2 AND state = 'running'";
  return (await get(claimed, [id, token])) !== undefined;
}

/** The claims of runs that are not running, or were claimed again. */
export async function findLost({ all }: Reader, claims: Claim[]): Promise<Claim[]> {
  if (claims.length === 0) return [];
  const held = await all("SELECT id, claims FROM hookline.runs WHERE id = ANY($1::uuid[]) AND state = 'running'", [
    claims.map(({ id }) => id),
  ]);
  const tokens = new Map(held.map((row) => [text(row.id), integer(row.claims)]));
  return claims.filter(({ id, token }) => tokens.get(id) !== token);
}

export async function listPauses({ all }: Reader): Promise<Pause[]> {
  const found = await all("SELECT mapping, since FROM hookline.pauses ORDER BY mapping");
  return found.map((row) => ({
    mapping: text(row.mapping),
    since: integer(row.since),
  }));
}

export async function listSteps({ all }: Reader, runId: string): Promise<Step[]> {
  if (!isId(runId)) return [];
  const found = await all("SELECT detail FROM hookline.steps WHERE run_id = $1 ORDER BY n", [runId]);
  return found.map(toStep);
}

export async function withSteps({ all }: Reader, runs: Run[]): Promise<Run[]> {
  const ids = runs.map(({ id }) => id);
  const found = await all("SELECT run_id, detail FROM hookline.steps WHERE run_id = ANY($1::uuid[]) ORDER BY n", [ids]);
  if (found.length === 0) return runs;
  const steps = Map.groupBy(found, (row) => text(row.run_id));
  return runs.map((run) => ({ ...run, steps: steps.get(run.id)?.map(toStep) }));
}

function toStep({ detail }: Row): Step {
  return JSON.parse(text(detail));
}

export async function countWork(reader: Reader, max: number): Promise<WorkCounts> {
  const runs = await countEach(reader, "hookline.runs", RUNS, max);
  const deliveries = await countEach(reader, "hookline.deliveries", DELIVERIES, max);
  const [ready = 0, queued = 0, running = 0, held = 0, dead = 0] = runs;
  const [pending = 0, behind = 0, sending = 0, failed = 0] = deliveries;
  return { runs: { ready, queued, running, held, dead }, deliveries: { pending, queued: behind, sending, failed } };
}

/** Conditions of partial indexes, word for word. A failed heartbeat is no dead letter. */
const RUNS = [
  "state = 'ready'",
  "state = 'queued'",
  "state = 'running'",
  "state = 'held'",
  "state = 'dead' AND kind = 'hook'",
];
const DELIVERIES = ["state = 'pending'", "state = 'queued'", "state = 'sending'", "state = 'failed'"];

export async function readSpend(
  { all }: Reader,
  { since, until, sessionKey }: { since: number; until?: number; sessionKey?: string },
): Promise<Spend[]> {
  return (await all(READ_SPEND, [since, sessionKey, until])).map(rows.toSpend);
}

const READ_SPEND = `
  SELECT hour - hour % 86400000 AS day, hook, mapping, model, sum(runs)::bigint AS runs, sum(input_tokens)::bigint AS input_tokens,
    sum(output_tokens)::bigint AS output_tokens, sum(cost) AS cost
  FROM hookline.spend
  WHERE hour >= $1 AND ($2::text IS NULL OR session_key = $2) AND ($3::bigint IS NULL OR hour < $3)
  GROUP BY 1, hook, mapping, model ORDER BY sum(cost) DESC, sum(input_tokens) + sum(output_tokens) DESC`;

/** How many unfinished runs each sender has. Reads all of them, in an index. */
export async function countSenders({ all }: Reader): Promise<Map<string, number>> {
  const counts = await all(
    "SELECT sender, count(*) AS runs FROM hookline.runs WHERE finished_at IS NULL GROUP BY sender",
  );
  return new Map(counts.map((row) => [text(row.sender), integer(row.runs)]));
}
