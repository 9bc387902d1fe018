import type { Answer } from "../records/event.ts";
import { text } from "../rows.ts";
import type { Transaction } from "./transaction.ts";

/** An event that is deleted already has no repeats that could ask for its answer. */
export async function recordAnswer(
  { run, get }: Transaction,
  eventId: string,
  answer: Answer | null,
): Promise<Answer | null> {
  await run(INSERT_ANSWER, [eventId, JSON.stringify(answer)]);
  const row = await get("SELECT answer FROM hookline.answers WHERE event_id = $1", [eventId]);
  return row ? JSON.parse(text(row.answer)) : answer;
}

/** With a lock, so that retention does not delete the event meanwhile. */
const INSERT_ANSWER = `
  INSERT INTO hookline.answers (event_id, answer)
  SELECT id, $2 FROM hookline.event_states WHERE id = $1 FOR KEY SHARE ON CONFLICT DO NOTHING`;
