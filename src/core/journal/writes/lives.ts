import { DAY_MS } from "../../shared/time.ts";
import type { LifeState } from "../records/suspect.ts";
import type { Work, Writer } from "./writer.ts";

/*
 * A life is the time of a process with the same suspect, or without one. It begins with the first sign of life of its node. By
 * the store's clock.
 */

const RUNNING: LifeState = "running";
const OVER: LifeState = "over";
export const ENDED: LifeState = "ended";

/** Notes that a node lives. After its suspect another life begins. */
export function* signLife({ run }: Pick<Writer, "run">, node: string, at: number): Work<void> {
  yield* run(LEAVE_SUSPECT, [node, at]);
  if ((yield* run(SIGN, [node, at])) === 0) yield* run(BEGIN, [node, at, undefined]);
}

const SIGN = `UPDATE hookline.lives SET seen_at = $2 WHERE node = $1 AND state = '${RUNNING}'`;

const LEAVE_SUSPECT = `
  UPDATE hookline.lives SET seen_at = $2, state = '${OVER}' WHERE node = $1 AND state = '${RUNNING}' AND suspect IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM hookline.runs WHERE id = suspect AND state = 'running')
    AND NOT EXISTS (SELECT 1 FROM hookline.deliveries WHERE id = suspect AND state = 'sending')`;

const BEGIN = `
  INSERT INTO hookline.lives (node, started_at, seen_at, suspect, state) VALUES ($1, $2, $2, $3, '${RUNNING}')
  ON CONFLICT (node, started_at) DO UPDATE SET seen_at = excluded.seen_at, suspect = excluded.suspect, state = excluded.state`;

/** Begins a life of a node with its suspect. */
export function* beginAlone(writer: Pick<Writer, "run">, node: string, at: number, suspect: string): Work<void> {
  yield* leaveLife(writer, node, at);
  yield* writer.run(BEGIN, [node, at, suspect]);
}

/** The process stops, or goes on in another life. */
export function* leaveLife({ run }: Pick<Writer, "run">, node: string, at: number): Work<void> {
  yield* run(`UPDATE hookline.lives SET seen_at = $2, state = '${OVER}' WHERE node = $1 AND state = '${RUNNING}'`, [
    node,
    at,
  ]);
}

/** Ends the lives of processes that ended. `condition`: which of the nodes did. Forgets those of earlier days. */
export function* endLives({ run }: Pick<Writer, "run">, at: number, condition = "true"): Work<void> {
  yield* run(`UPDATE hookline.lives SET state = '${ENDED}' WHERE state = '${RUNNING}' AND ${condition}`);
  yield* run("DELETE FROM hookline.lives WHERE seen_at < $1", [at - DAY_MS]);
}
