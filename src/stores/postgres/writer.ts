import { MAIN_SESSION } from "../../core/types.ts";
import { waitFor, type Work, type Writer } from "../../core/journal/writes/writer.ts";
import { updateEventCounts } from "./counters.ts";
import { addDeliveries, reportsOfDeliveries } from "./deliveries.ts";
import { addEntries, reportsOfEntries } from "./entries.ts";
import { isLeaseHeld } from "./leases.ts";
import { TABLES } from "./read.ts";
import { Batch, lock, reportAll, type Transaction } from "./transaction.ts";

export function createWriter(transaction: Transaction): Writer {
  const { all, get, run, withCommit, announce, clockOffsetMs, isRepeated } = transaction;

  return {
    all: (sql, values) => waitFor(all(sql, values)),
    get: (sql, values) => waitFor(get(sql, values)),
    run: (sql, values) => waitFor(run(sql, values)),
    *runEach(sql, lists) {
      yield* waitFor(Promise.all(lists.map((values) => run(sql, values))));
    },
    withCommit,
    lock: (names) => waitFor(lock(transaction, names)),
    holdsLease: (lease) => waitFor(isLeaseHeld(transaction, lease)),
    tables: TABLES,
    clockOffsetMs,
    isRepeated,
    announce,
    isWatched: () => waitFor(transaction.isWatched()),
    report: (reports) => waitFor(reportAll(transaction, reports)),

    count({ runId, eventId }, change) {
      updateEventCounts(transaction, [{ event_id: eventId, run_id: runId, ...change }]);
    },
    addToTotals() {},
    *insertDeliveries(deliveries, at) {
      const added = deliveries.map((delivery) => ({ delivery, at }));
      yield* runBatch((batch) => addDeliveries(batch, added, clockOffsetMs));
      if (deliveries.length > 0) announce("delivery");
      yield* waitFor(reportAll(transaction, reportsOfDeliveries(deliveries)));
    },
    *insertEntries(entries) {
      yield* runBatch((batch) => addEntries(batch, entries));
      yield* waitFor(reportAll(transaction, reportsOfEntries(entries)));
    },
    *insertHeartbeat({ id, state, startedAt, finishedAt, error, outcome }) {
      const values = [id, state, startedAt, finishedAt, error, outcome];
      const isNew = (yield* waitFor(run(INSERT_HEARTBEAT, values))) > 0;
      if (isNew) transaction.report({ kind: "run", id, state });
      return isNew;
    },
  };

  function* runBatch(fill: (batch: Batch) => void): Work<void> {
    const batch = new Batch();
    fill(batch);
    yield* waitFor(batch.run(transaction, "1"));
  }
}

/** Does a write. */
export async function finish<Result>(work: Work<Result>): Promise<Result> {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    await step.value;
  }
}

const INSERT_HEARTBEAT = `
  INSERT INTO hookline.runs (id, kind, session_key, state, attempts, created_at, due_at, started_at, finished_at, error, outcome)
  VALUES ($1, 'heartbeat', '${MAIN_SESSION}', $2, 1, $3, $3, $3, $4, $5, $6) ON CONFLICT DO NOTHING`;
