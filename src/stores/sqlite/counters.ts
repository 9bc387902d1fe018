import { integer } from "../../core/journal/columns.ts";
import type { CountChange, Origin } from "../../core/journal/writes/writer.ts";
import type { Database } from "./database.ts";

/** Counts in the `totals` row, so that no query counts a million rows. */
interface Totals {
  events: number;
  runs: number;
  deliveries: number;
  systemEvents: number;
}

/** Sums that the operations of a commit change, each written once at its end: many operations change the same row. */
export interface Counters {
  begin(): void;
  /** A number for a new event, run or entry: higher than all before, also than those that are deleted. */
  nextSeq(): number;
  add(change: Partial<Totals>): void;
  /** Counts a new entry; the first one creates the session. */
  extendSession(key: string, at: number): void;
  /** Takes an entry away; a session without entries is deleted. */
  shortenSession(key: string): void;
  /** At the end of a commit. */
  write(): void;
}

export function createCounters(database: Database): Counters {
  const totals: Totals = { events: 0, runs: 0, deliveries: 0, systemEvents: 0 };
  const added = new Map<string, { entries: number; createdAt: number; updatedAt: number }>();
  const removed = new Map<string, number>();
  let lastSeq = integer(database.get("SELECT last_seq FROM totals")?.last_seq);
  let hasChanged = false;

  return {
    begin() {
      Object.assign(totals, { events: 0, runs: 0, deliveries: 0, systemEvents: 0 });
      added.clear();
      removed.clear();
      hasChanged = false;
    },
    nextSeq() {
      hasChanged = true;
      lastSeq += 1;
      return lastSeq;
    },
    add({ events = 0, runs = 0, deliveries = 0, systemEvents = 0 }) {
      totals.events += events;
      totals.runs += runs;
      totals.deliveries += deliveries;
      totals.systemEvents += systemEvents;
      hasChanged = true;
    },
    extendSession(key, at) {
      const { entries, createdAt, updatedAt } = added.get(key) ?? { entries: 0, createdAt: at, updatedAt: at };
      added.set(key, {
        entries: entries + 1,
        createdAt: Math.min(createdAt, at),
        updatedAt: Math.max(updatedAt, at),
      });
    },
    shortenSession(key) {
      removed.set(key, (removed.get(key) ?? 0) + 1);
    },
    write() {
      for (const [key, { createdAt, updatedAt, entries }] of added) {
        database.run(EXTEND_SESSION, key, createdAt, updatedAt, entries);
      }
      for (const [key, count] of removed) {
        database.run("UPDATE OR FAIL sessions SET entries = entries - ? WHERE key = ?", count, key);
        const isEnded = database.run("DELETE FROM sessions WHERE key = ? AND entries <= 0", key) > 0;
        if (isEnded) database.run("UPDATE OR FAIL sent_messages SET session_key = NULL WHERE session_key = ?", key);
      }
      const { events, runs, deliveries, systemEvents } = totals;
      if (hasChanged) database.run(ADD_TO_TOTALS, events, runs, deliveries, systemEvents, lastSeq);
    },
  };
}

const EXTEND_SESSION = `
  INSERT OR FAIL INTO sessions (key, created_at, updated_at, entries) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET updated_at = max(updated_at, excluded.updated_at), entries = entries + excluded.entries`;

const ADD_TO_TOTALS = `
  UPDATE OR FAIL totals SET events = events + ?, pending_runs = pending_runs + ?, pending_deliveries = pending_deliveries + ?,
    pending_system_events = pending_system_events + ?, last_seq = ?`;

/** Changes the counts of a run's event, and of those that joined it. */
export function updateRunCounts(database: Database, run: { seq: number; eventSeq: number }, change: CountChange): void {
  const joined = database.all("SELECT event_seq FROM joined_events WHERE run_seq = ?", run.seq);
  updateCounts(database, [run.eventSeq, ...joined.map((row) => integer(row.event_seq))], change);
}

/** The same by ids. */
export function updateCountsOf(database: Database, { eventId, runId }: Origin, change: CountChange): void {
  if (eventId === undefined) return;
  const rows = [
    ...database.all("SELECT seq FROM events WHERE id = ?", eventId),
    ...database.all(
      "SELECT joined_events.event_seq AS seq FROM runs JOIN joined_events ON run_seq = runs.seq WHERE runs.id = ?",
      runId,
    ),
  ];
  updateCounts(
    database,
    rows.map(({ seq }) => integer(seq)),
    change,
  );
}

/** Two actions of one event can be in one run, which counts once. */
function updateCounts(database: Database, eventSeqs: number[], { open, dead, canceled = 0 }: CountChange): void {
  for (const seq of new Set(eventSeqs)) database.run(UPDATE_COUNTS, open, dead, canceled, seq);
}

const UPDATE_COUNTS = `
  UPDATE OR FAIL events SET open = open + ?1, dead = dead + ?2, canceled = canceled + ?3,
    status = CASE WHEN open + ?1 > 0 THEN 'accepted' WHEN dead + ?2 > 0 THEN 'failed' WHEN canceled + ?3 > 0 THEN 'canceled'
      ELSE 'done' END WHERE seq = ?4`;
