import type { ApprovalUse } from "../records/approval.ts";
import type { Claim } from "../records/node.ts";
import type { Step } from "../records/step.ts";
import { type ApprovalEnd, isFinished, optional, type Row, text } from "../rows.ts";
import { addSpend } from "./counters.ts";
import type { Sql } from "./database.ts";
import { Batch, reportAll, toPostgresText, type Transaction } from "./transaction.ts";

export async function recordSteps(
  transaction: Transaction,
  { id, token }: Claim,
  steps: Step[],
  uses: ApprovalUse[] = [],
): Promise<boolean> {
  const run = await transaction.get(TAKE_RUN, [id, token, steps.some(isFinished)]);
  if (!run || (await isAnswered(transaction, id, steps))) return false;
  const approvals = await findUsable(transaction, id, uses);
  if (!approvals) return false;
  for (const [index, use] of uses.entries()) await useApproval(transaction, approvals[index] ?? {}, use);
  const batch = new Batch();
  addSteps(batch, [{ runId: id, steps }]);
  const row = await batch.run(transaction, NEW_ANSWERS);
  const numbers: number[] = JSON.parse(text(row?.answers ?? "[]"));
  // At a repetition, the earlier attempt may have recorded them with what they used.
  const answers = steps.filter(({ n }) => numbers.includes(n));
  const spend = new Batch();
  spend.add(
    "claimed",
    [run],
    "SELECT * FROM json_to_recordset($rows) AS row (id uuid, session_key text, hook text, mapping text)",
  );
  const spent = answers.map((step) => ({
    claim: id,
    used: { ...step, finishedAt: step.finishedAt ?? step.startedAt },
    runs: 0 as const,
  }));
  addSpend(spend, spent, "claimed");
  if (spent.length > 0) await spend.run(transaction, "1");
  const eventId = optional(text, run.event_id);
  await reportAll(transaction, [{ kind: "run", id, eventId, state: "running" }]);
  return true;
}

/** Undefined if one of them cannot be used any more. */
async function findUsable(
  { get, isRepeated }: Transaction,
  runId: string,
  uses: ApprovalUse[],
): Promise<Row[] | undefined> {
  const rows: Row[] = [];
  for (const { id, state } of uses) {
    const row = await get("SELECT * FROM hookline.approvals WHERE id = $1 AND run_id = $2 FOR UPDATE", [id, runId]);
    const isOpen = row?.state === "approved" || (state === "withdrawn" && row?.state === "open");
    // The earlier attempt has used it under the same claim.
    if (!row || !(isOpen || (isRepeated && row.state === state))) return undefined;
    rows.push(row);
  }
  return rows;
}

async function useApproval(transaction: Transaction, row: Row, { id, state, reason }: ApprovalUse): Promise<void> {
  const decision: ApprovalEnd = row.decision ? JSON.parse(text(row.decision)) : { decidedAt: Date.now() };
  const end = toPostgresText(JSON.stringify(reason === undefined ? decision : { ...decision, reason }));
  await transaction.run("UPDATE hookline.approvals SET state = $2, decision = $3 WHERE id = $1", [id, state, end]);
  const [runId, eventId] = [text(row.run_id), optional(text, row.event_id ?? null)];
  await reportAll(transaction, [{ kind: "approval", id, eventId, state, runId }]);
}

/** The result of an earlier attempt came meanwhile. */
async function isAnswered(sql: Sql, runId: string, steps: Step[]): Promise<boolean> {
  for (const { n, state } of steps) {
    if (state === "started" && isFinished(await readStep(sql, runId, n))) return true;
  }
  return false;
}

export async function readStep({ get }: Sql, runId: string, n: number): Promise<Step | undefined> {
  const row = await get("SELECT detail FROM hookline.steps WHERE run_id = $1 AND n = $2 FOR UPDATE", [runId, n]);
  return row && JSON.parse(text(row.detail));
}

const TAKE_RUN = `
  UPDATE hookline.runs SET attempts = CASE WHEN $3 THEN 1 ELSE attempts END WHERE id = $1 AND claims = $2 AND state = 'running'
  RETURNING id, event_id, session_key, hook, mapping`;

const NEW_ANSWERS = "(SELECT coalesce(json_agg(n), '[]')::text FROM new_answers) AS answers";

/** `condition` is about the `run_id` of the steps. */
export function addSteps(batch: Batch, runs: { runId: string; steps: Step[] }[], condition = "true"): void {
  const rows = runs.flatMap(({ runId, steps }) =>
    steps.map((step) => ({
      run_id: runId,
      n: step.n,
      state: step.state,
      is_answer: step.kind === "model",
      detail: toPostgresText(JSON.stringify(step)),
    })),
  );
  if (rows.length === 0) return;
  batch.add(
    "step",
    rows,
    `SELECT * FROM json_to_recordset($rows) AS row (run_id uuid, n integer, state text, is_answer boolean, detail text)
     WHERE ${condition}`,
  );
  const insert = "INSERT INTO hookline.steps (run_id, n, state, detail) SELECT run_id, n, state, detail FROM step";
  batch.addOver("new_answers", `${insert} WHERE is_answer ON CONFLICT DO NOTHING RETURNING n`);
  batch.addOver(
    "new_steps",
    `${insert} WHERE NOT is_answer ON CONFLICT (run_id, n) DO UPDATE SET state = excluded.state, detail = excluded.detail
     WHERE steps.state NOT IN ('done', 'failed') OR excluded.state IN ('done', 'failed')`,
  );
}
