import { MAIN_SESSION } from "../../core/types.ts";
import { integer } from "../../core/journal/columns.ts";
import { done, type HeartbeatEnd, type Work, type Writer } from "../../core/journal/writes/writer.ts";
import { updateCountsOf } from "./counters.ts";
import { insertDeliveries } from "./deliveries.ts";
import { insertEntry } from "./entries.ts";
import { report, type Transaction } from "./group-commit.ts";
import { runTranslated, TABLES, toValue, translate, statementsOf } from "./read.ts";

export function createWriter(transaction: Transaction): Writer {
  const { announce, isWatched, counters } = transaction;
  const forEach = <Item>(items: Item[], write: (item: Item) => void): Work<void> => done(items.forEach(write));

  return {
    all: (sql, values = []) => done(transaction.all(translate(sql), ...values.map(toValue))),
    get: (sql, values = []) => done(transaction.get(translate(sql), ...values.map(toValue))),
    runEach: (sql, lists) => forEach(lists, (values) => runTranslated(transaction, sql, values)),
    ...statementsOf(transaction),
    lock: () => done(undefined),
    holdsLease: () => done(true),
    tables: TABLES,
    clockOffsetMs: 0,
    isRepeated: false,
    announce,
    isWatched: () => done(isWatched()),
    report: (reports) => forEach(reports, (each) => report(transaction, each)),

    count: (origin, change) => updateCountsOf(transaction, origin, change),
    addToTotals: counters.add,
    insertDeliveries: (deliveries, at) => done(insertDeliveries(transaction, deliveries, at)),
    insertEntries: (entries) =>
      forEach(entries, (entry) => {
        const origin = { eventSeq: seqOf("events", entry.eventId), runSeq: seqOf("runs", entry.runId) };
        insertEntry(transaction, entry, origin);
      }),
    insertHeartbeat: (heartbeat) => done(insertHeartbeat(transaction, heartbeat)),
  };

  function seqOf(table: "events" | "runs", id: string | undefined): number | undefined {
    const row = id === undefined ? undefined : transaction.get(`SELECT seq FROM ${table} WHERE id = ?`, id);
    return row && integer(row.seq);
  }
}

/** Does a write. */
export function finish<Result>(work: Work<Result>): Result {
  const step = work.next();
  if (!step.done) throw new Error("a write in SQLite waited");
  return step.value;
}

function insertHeartbeat(transaction: Transaction, run: HeartbeatEnd): boolean {
  const { id, state, startedAt, finishedAt, error, outcome } = run;
  const seq = transaction.counters.nextSeq();
  const isNew = transaction.run(INSERT_HEARTBEAT, seq, id, state, startedAt, finishedAt, error, outcome) > 0;
  if (isNew) transaction.report({ kind: "run", id, state });
  return isNew;
}

const INSERT_HEARTBEAT = `
  INSERT INTO runs (seq, id, kind, mapping, session_key, state, attempts, claims, created_at, due_at, started_at,
    finished_at, error, outcome)
  VALUES (?1, ?2, 'heartbeat', '', '${MAIN_SESSION}', ?3, 1, 0, ?4, ?4, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING`;
