import { type ActionReceipt, MAIN_SESSION } from "../../types.ts";
import { countRuns, isRun } from "../plan.ts";
import type { NewAction, NewEntry, NewEvent, StoredRequest } from "../records.ts";
import { integer } from "../rows.ts";
import type { Database } from "./database.ts";
import type { Transaction } from "./group-commit.ts";
import { type Content, MAX_INLINE, toContent } from "./pieces.ts";

/** The `detail` column: what no condition of a list needs. Empty lists are left out. */
export interface EventDetail extends Pick<
  NewEvent,
  "mapping" | "event" | "reason" | "replayOf" | "credential" | "traceparent" | "took" | "failure"
> {
  request: Omit<StoredRequest, "body">;
  actions?: ActionReceipt[];
  warnings?: NewEvent["warnings"];
  log?: NewEvent["log"];
  /** The system event of a wake that has no row in `entries`. */
  wake?: Content & { urgent: boolean };
}

interface EventParts {
  seq: number;
  source: Uint8Array;
  receipts: ActionReceipt[];
  /** Those that were not accepted before. */
  actions: NewAction[];
  /** The system event that is stored with the event. */
  wake: NewEntry | undefined;
}

export function insertEvent(transaction: Transaction, event: NewEvent, parts: EventParts): void {
  const { seq, source, receipts, actions, wake } = parts;
  const { id, hook, mapping, receivedAt, replayOf, credential, traceparent, reason, warnings, log, took, failure } =
    event;
  const { body, ...request } = event.request;
  const detail: EventDetail = {
    mapping,
    event: event.event,
    reason,
    replayOf,
    credential,
    traceparent,
    request,
    actions: unlessEmpty(receipts),
    warnings: unlessEmpty(warnings),
    log: unlessEmpty(log),
    took,
    failure,
    wake: wake && { ...toContent(wake, source), urgent: wake.urgent ?? false },
  };
  const open = countRuns(actions);
  // Wakes are done with this commit.
  const status = event.status === "accepted" && open === 0 ? "done" : event.status;
  const inline = body.length <= MAX_INLINE ? body : undefined;
  const values = [seq, id, hook, status, open, wake && 1, receivedAt, JSON.stringify(detail), inline];
  transaction.run(INSERT_EVENT, ...values);
  if (!inline) transaction.run("INSERT OR FAIL INTO bodies (event_seq, body) VALUES (?, ?)", seq, body);
  if (wake) announceWake(transaction, wake);
}

const INSERT_EVENT = `
  INSERT OR FAIL INTO events (seq, id, hook, status, open, lost, pending, received_at, detail, body)
  VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?)`;

function unlessEmpty<Item>(list: Item[]): Item[] | undefined {
  return list.length > 0 ? list : undefined;
}

function announceWake({ announce, report }: Transaction, { urgent }: NewEntry): void {
  if (urgent) announce("heartbeat");
  report({ kind: "session", key: MAIN_SESSION });
}

/** The system event of the first wake, if a few columns of the event's row can say everything about it. */
export function findInlineWake(event: NewEvent, [first]: NewAction[]): NewEntry | undefined {
  if (!first || isRun(first)) return undefined;
  const { sessionKey, role, at, eventId, runId, pending, text } = first.entry;
  const isOwn = eventId === event.id && at === event.receivedAt && runId === undefined;
  const isPlain = sessionKey === MAIN_SESSION && role === "system" && pending === true && text.length <= MAX_INLINE;
  return isOwn && isPlain ? first.entry : undefined;
}

/**
 * Of an event, `open` counts unfinished runs and deliveries, `lost` those that failed permanently. With the last open one it
 * is done or dead.
 */
export interface CountChange {
  open: number;
  lost: number;
}

/** Changes the counts of a run's event, and of those that joined it. */
export function updateRunCounts(database: Database, run: { seq: number; eventSeq: number }, change: CountChange): void {
  const joined = database.all("SELECT event_seq FROM joined_events WHERE run_seq = ?", run.seq);
  updateCounts(database, [run.eventSeq, ...joined.map((row) => integer(row.event_seq))], change);
}

/** Changes the counts of a delivery's event, and of those that joined its run. */
export function updateDeliveryCounts(
  database: Database,
  { eventId, runId }: { eventId: string | undefined; runId: string },
  change: CountChange,
): void {
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
function updateCounts(database: Database, eventSeqs: number[], { open, lost }: CountChange): void {
  for (const seq of new Set(eventSeqs)) database.run(UPDATE_COUNTS, open, lost, seq);
}

const UPDATE_COUNTS = `
  UPDATE OR FAIL events SET open = open + ?1, lost = lost + ?2,
    status = CASE WHEN open + ?1 > 0 THEN 'accepted' WHEN lost + ?2 > 0 THEN 'dead' ELSE 'done' END WHERE seq = ?3`;
