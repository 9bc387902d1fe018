import type { Tally } from "../records/tally.ts";
import type { Work, Writer } from "./writer.ts";

/** Sorted, so that two transactions cannot wait for each other in a circle. */
export function* addTallies({ runEach }: Writer, tallies: Tally[]): Work<void> {
  const rows = tallies.map(({ at, mapping, what, n }) => [at, mapping, what, n] as const);
  const sorted = rows.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  yield* runEach(
    ADD,
    sorted.map((row) => [...row]),
  );
}

const ADD = `
  INSERT INTO hookline.tallies (at, mapping, what, n) VALUES ($1, $2, $3, $4)
  ON CONFLICT (at, mapping, what) DO UPDATE SET n = CASE WHEN excluded.what <> 'slowestMs' THEN tallies.n + excluded.n
    WHEN excluded.n > tallies.n THEN excluded.n ELSE tallies.n END`;
