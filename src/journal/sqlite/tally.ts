import type { Database } from "./database.ts";
import { integer } from "../rows.ts";

/** What the `totals` row counts, so that nothing is counted over a million rows. */
interface Totals {
  events: number;
  runs: number;
  deliveries: number;
  systemEvents: number;
}

/** Sums that the operations of a commit change, each written once at its end: many operations change the same row. */
export interface Tally {
  /** Forgets what a transaction that was undone has changed. */
  begin(): void;
  /** Unfinished runs and deliveries, and pending system events. */
  count(change: Partial<Totals>): void;
  extendSession(key: string, at: number): void;
  /** Takes an entry away; a session without entries is deleted. */
  shortenSession(key: string): void;
  /** A number for a new event, run or entry: higher than all before, also than those that are deleted. */
  nextSeq(): number;
  write(): void;
}

interface SessionChange {
  added: number;
  removed: number;
  firstAt: number;
  lastAt: number;
}

export function createTally(database: Database): Tally {
  const totals: Totals = { events: 0, runs: 0, deliveries: 0, systemEvents: 0 };
  const sessions = new Map<string, SessionChange>();
  let hasChanged = false;
  let lastSeq: number | undefined;

  return {
    begin() {
      Object.assign(totals, { events: 0, runs: 0, deliveries: 0, systemEvents: 0 });
      sessions.clear();
      hasChanged = false;
      lastSeq = undefined;
    },
    count({ events = 0, runs = 0, deliveries = 0, systemEvents = 0 }) {
      totals.events += events;
      totals.runs += runs;
      totals.deliveries += deliveries;
      totals.systemEvents += systemEvents;
      hasChanged = true;
    },
    extendSession(key, at) {
      const change = changeOf(key);
      change.added += 1;
      change.firstAt = Math.min(change.firstAt, at);
      change.lastAt = Math.max(change.lastAt, at);
    },
    shortenSession(key) {
      changeOf(key).removed += 1;
    },
    nextSeq() {
      lastSeq ??= integer(database.get("SELECT last_seq FROM totals")?.last_seq);
      hasChanged = true;
      return ++lastSeq;
    },
    write() {
      const { events, runs, deliveries, systemEvents } = totals;
      if (hasChanged) database.run(ADD_TO_TOTALS, events, runs, deliveries, systemEvents, lastSeq);
      for (const [key, { added, removed, firstAt, lastAt }] of sessions) {
        if (added > 0) database.run(EXTEND_SESSION, key, firstAt, lastAt, added);
        if (removed === 0) continue;
        database.run("UPDATE OR FAIL sessions SET entries = entries - ? WHERE key = ?", removed, key);
        database.run("DELETE FROM sessions WHERE key = ? AND entries <= 0", key);
      }
    },
  };

  function changeOf(key: string): SessionChange {
    const known = sessions.get(key);
    if (known) return known;
    const change = { added: 0, removed: 0, firstAt: Infinity, lastAt: 0 };
    sessions.set(key, change);
    return change;
  }
}

const ADD_TO_TOTALS = `
  UPDATE OR FAIL totals SET events = events + ?, pending_runs = pending_runs + ?, pending_deliveries = pending_deliveries + ?,
    pending_system_events = pending_system_events + ?, last_seq = coalesce(?, last_seq)`;

const EXTEND_SESSION = `
  INSERT OR FAIL INTO sessions (key, created_at, updated_at, entries) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT DO UPDATE SET updated_at = max(updated_at, ?3), entries = entries + ?4`;
