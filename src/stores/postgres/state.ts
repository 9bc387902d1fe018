import type { NewState } from "../../core/types.ts";
import type { NewEvent } from "../../core/journal/records/event.ts";
import { integer, text } from "../../core/journal/columns.ts";
import { findStateRefusal } from "../../core/journal/state-refusal.ts";
import type { Sql } from "./database.ts";
import { type Batch } from "./transaction.ts";
import { toPostgresText } from "./text.ts";

/** States as a batch of events finds it, and as each of its events leaves it to the next. */
export interface BatchState {
  /** By `idOf`. */
  keys: Map<string, StoredKey>;
  /** How many keys each state has, by name. */
  counts: Map<string, number>;
}

interface StoredKey {
  /** The name of the state, as it is stored. */
  name: string;
  key: string;
  /** undefined: it has no value. */
  version?: string;
  json?: string;
  ttlMs?: number;
  isChanged?: true;
}

const idOf = (name: string, key: string): string => JSON.stringify([name, key]);

/** The keys that each event reads or sets, to be locked. They have no character that PostgreSQL cannot store. */
export function listStateKeys(events: NewEvent[]): { name: string; key: string }[] {
  return events.flatMap(({ state }) =>
    state ? [...state.reads, ...state.sets].map(({ key }) => ({ name: toPostgresText(state.name), key })) : [],
  );
}

/** To be read once the keys are locked. */
export async function readBatchState({ all }: Sql, events: NewEvent[], now: number): Promise<BatchState> {
  const wanted = listStateKeys(events);
  const state: BatchState = { keys: new Map(), counts: new Map() };
  if (wanted.length === 0) return state;
  const setting = events.flatMap(({ state: own }) =>
    own?.sets.some(({ json }) => json !== undefined) ? toPostgresText(own.name) : [],
  );
  const [rows, counts] = await Promise.all([
    all(SELECT_VERSIONS, [wanted.map(({ name }) => name), wanted.map(({ key }) => key), now]),
    all(COUNT, [[...new Set(setting)], now]),
  ]);
  for (const row of rows) {
    const [name, key] = [text(row.name), text(row.key)];
    state.keys.set(idOf(name, key), { name, key, version: text(row.version) });
  }
  for (const row of counts) state.counts.set(text(row.name), integer(row.count));
  return state;
}

const SELECT_VERSIONS = `
  SELECT name, key, version FROM hookline.state
  WHERE (name, key) IN (SELECT * FROM unnest($1::text[], $2::text[])) AND (expires_at IS NULL OR expires_at > $3)`;

const COUNT = `
  SELECT name, count(*) AS count FROM hookline.state
  WHERE name = ANY($1::text[]) AND (expires_at IS NULL OR expires_at > $2) GROUP BY name`;

/** Adds what an event sets for the events behind it and for the commit, or says why it cannot be committed. */
export function applyState(
  event: NewEvent,
  state: NewState,
  { keys, counts }: BatchState,
): ReturnType<typeof findStateRefusal> {
  const name = toPostgresText(state.name);
  const versionOf = (key: string): string | undefined => keys.get(idOf(name, key))?.version;
  const refusal = findStateRefusal(state, { versionOf, count: () => counts.get(name) ?? 0 });
  if (refusal) return refusal;
  for (const { key, json, ttlMs } of state.sets) {
    const [before, version] = [versionOf(key), json === undefined ? undefined : event.id];
    const more = Number(version !== undefined) - Number(before !== undefined);
    counts.set(name, (counts.get(name) ?? 0) + more);
    keys.set(idOf(name, key), { name, key, version, json, ttlMs, isChanged: true });
  }
  return undefined;
}

export function addState(batch: Batch, { keys }: BatchState, now: number): void {
  const changed = [...keys.values()].filter(({ isChanged }) => isChanged);
  const toRow = ({ name, key, version, json, ttlMs }: StoredKey): object => ({
    name,
    key,
    version,
    expires_at: ttlMs === undefined ? undefined : now + ttlMs,
    value: json,
  });
  batch.add(
    "new_state",
    changed.filter(({ json }) => json !== undefined).map(toRow),
    `INSERT INTO hookline.state (name, key, version, expires_at, value)
     SELECT * FROM json_to_recordset($rows) AS row (name text, key text, version text, expires_at bigint, value text)
     ON CONFLICT (name, key) DO UPDATE SET version = excluded.version, expires_at = excluded.expires_at,
       value = excluded.value`,
  );
  batch.add(
    "removed_state",
    changed.filter(({ json }) => json === undefined).map(toRow),
    `DELETE FROM hookline.state WHERE (name, key) IN
       (SELECT name, key FROM json_to_recordset($rows) AS row (name text, key text))`,
  );
}

/** The paused mappings among these. */
export async function readPaused({ all }: Sql, mappings: (string | undefined)[]): Promise<ReadonlySet<string>> {
  const named = mappings.filter((mapping) => mapping !== undefined);
  if (named.length === 0) return new Set();
  const rows = await all("SELECT mapping FROM hookline.pauses WHERE mapping = ANY($1::text[])", [named]);
  return new Set(rows.map((row) => text(row.mapping)));
}
