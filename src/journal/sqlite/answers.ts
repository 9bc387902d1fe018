import type { Answer } from "../records/event.ts";
import { text } from "../rows.ts";
import type { Transaction } from "./group-commit.ts";

/** An event that is deleted already has no repeats that could ask for its answer. */
export function recordAnswer({ run, get }: Transaction, eventId: string, answer: Answer | null): Answer | null {
  run(INSERT_ANSWER, JSON.stringify(answer), eventId);
  const row = get("SELECT answer FROM answers WHERE event_id = ?", eventId);
  return row ? JSON.parse(text(row.answer)) : answer;
}

const INSERT_ANSWER = `
  INSERT INTO answers (event_id, answer) SELECT id, ? FROM events WHERE id = ? ON CONFLICT DO NOTHING`;
