import type { Answer } from "../records/event.ts";
import type { NewNote } from "../records/node.ts";
import type { Tally } from "../records/tally.ts";
import { text } from "../columns.ts";
import type { Work, Writer } from "./writer.ts";

export function* writeNotes({ run, clockOffsetMs }: Writer, notes: NewNote[]): Work<void> {
  for (const { kind, key, json, expiresAt } of notes) {
    if (json === undefined) yield* run("DELETE FROM hookline.notes WHERE kind = $1 AND key = $2", [kind, key]);
    else yield* run(REPLACE_NOTE, [kind, key, expiresAt === undefined ? null : expiresAt + clockOffsetMs, json]);
  }
}

const REPLACE_NOTE = `
  INSERT INTO hookline.notes (kind, key, expires_at, value) VALUES ($1, $2, $3, $4)
  ON CONFLICT (kind, key) DO UPDATE SET expires_at = excluded.expires_at, value = excluded.value`;

/** Sorted, so that two transactions cannot wait for each other in a circle. */
export function* addTallies({ runEach }: Writer, tallies: Tally[]): Work<void> {
  const rows = tallies.map(({ at, mapping, what, n }) => [at, mapping, what, n] as const);
  const sorted = rows.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  yield* runEach(
    ADD_TALLY,
    sorted.map((row) => [...row]),
  );
}

const ADD_TALLY = `
  INSERT INTO hookline.tallies (at, mapping, what, n) VALUES ($1, $2, $3, $4)
  ON CONFLICT (at, mapping, what) DO UPDATE SET n = CASE WHEN excluded.what <> 'slowestMs' THEN tallies.n + excluded.n
    WHEN excluded.n > tallies.n THEN excluded.n ELSE tallies.n END`;

/** An event that is deleted already has no repeats that could ask for its answer. */
export function* recordAnswer(
  { run, get, tables }: Writer,
  eventId: string,
  answer: Answer | null,
): Work<Answer | null> {
  // With a lock, so that retention does not delete the event meanwhile.
  const insert = `INSERT INTO hookline.answers (event_id, answer)
    SELECT id, $2 FROM ${tables.states} WHERE id = $1 FOR KEY SHARE ON CONFLICT DO NOTHING`;
  yield* run(insert, [eventId, JSON.stringify(answer)]);
  const row = yield* get("SELECT answer FROM hookline.answers WHERE event_id = $1", [eventId]);
  return row ? JSON.parse(text(row.answer)) : answer;
}

export function* pauseMapping({ run, isRepeated }: Writer, mapping: string, at: number): Work<boolean> {
  const insert = "INSERT INTO hookline.pauses (mapping, since) VALUES ($1, $2) ON CONFLICT DO NOTHING";
  return (yield* run(insert, [mapping, at])) > 0 || isRepeated;
}

export function* resumeMapping({ run, isRepeated, announce }: Writer, mapping: string): Work<boolean> {
  const isResumed = (yield* run("DELETE FROM hookline.pauses WHERE mapping = $1", [mapping])) > 0 || isRepeated;
  if (isResumed) announce("run");
  return isResumed;
}
