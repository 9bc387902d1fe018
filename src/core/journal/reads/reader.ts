import { firstIdAt, isId } from "../../shared/id.ts";
import type { Page } from "../journal.ts";
import type { Run } from "../records/run.ts";
import { integer, type Row } from "../columns.ts";

/*
 * The reads of both stores, in PostgreSQL's words. SQLite's differ so little that `sqlite/read.ts` translates them. Lists
 * are newest first; ids of events, runs and deliveries sort by time, across all nodes.
 */

export type ReadValue = string | number | null | undefined | readonly string[];

/** A store, as its reads use it. */
export interface Reader {
  all(sql: string, values?: ReadValue[]): Promise<Row[]>;
  get(sql: string, values?: ReadValue[]): Promise<Row | undefined>;
  /** By how many milliseconds the store's clock is ahead of the clock of this process. */
  clockOffsetMs: number;
  tables: ReadTables;
  /** Adds the messages that joined them. */
  withJoined(runs: Run[]): Promise<Run[]>;
}

/** The tables behind FROM, with equal columns in both stores, and what has no equal in the other store. */
export interface ReadTables {
  /** The states of events: `id`, `hook`, `status`. */
  states: string;
  events: string;
  runs: string;
  /** Dead runs of hooks: a failed heartbeat is no dead letter. */
  deadRuns: string;
  failedDeliveries: string;
  /** Events whose condition is `FAILED_REQUEST`. */
  failedRequests: string;
  entries: string;
  /** Which entries belong to the events $1. */
  isOfEvents: string;
  /** Entries through the index of the main session's turns: most of its entries are system events. */
  mainTurns: string;
  /** The body of the event $1, if it is not empty. */
  body: string;
  /** The mapping of an event, by its `detail`. */
  mappingOf: string;
  /** The column that the lists are in the order of: the one that the indexes end with. */
  order: "id" | "seq";
  /** Whether the event $2 joined the run `runs`. */
  isJoined: string;
  /** Whether the event of a row of `idempotency_keys` is unfinished. */
  isUnfinishedKey: string;
  /** A session $1 without entries: its runs are all unfinished or dead. */
  emptySession: string;
}

/** SQL in front of the value, or around `$before`. */
export type Condition = [sql: string, value: ReadValue];

/** The newest rows of a page that meet the conditions whose value is given. */
export async function listPage(reader: Reader, from: string, page: Page, conditions: Condition[]): Promise<Row[]> {
  const { limit, before } = page;
  if (before !== undefined && !isId(before)) return [];
  const { where, values } = toWhere([...conditions, ...withinPage(reader, from, page)]);
  const sql = `SELECT * FROM ${from} ${where} ORDER BY ${reader.tables.order} DESC LIMIT $${values.length + 1}`;
  return reader.all(sql, [...values, limit]);
}

export function ofStates(state: string | string[] | undefined): Condition {
  return [Array.isArray(state) ? "state = ANY" : "state =", state];
}

/** A request has its id when it begins, and its `seq` when it is committed, within this time. */
const MAX_BETWEEN_MS = 10 * 60_000;

/** Ids sort by time. So does `seq`, within `MAX_BETWEEN_MS`: it finds the rows that are read. */
export function withinPage(reader: Reader, from: string, page: Page): Condition[] {
  const first = page.from === undefined ? undefined : firstIdAt(page.from);
  const end = page.to === undefined ? undefined : firstIdAt(page.to);
  if (reader.tables.order === "id") {
    return [
      ["id <", page.before],
      ["id >=", first],
      ["id <", end],
    ];
  }
  const earlier = page.from === undefined ? undefined : firstIdAt(page.from - MAX_BETWEEN_MS);
  const later = page.to === undefined ? undefined : firstIdAt(page.to + MAX_BETWEEN_MS);
  return [
    [`seq < (SELECT seq FROM ${from} WHERE id = $before)`, page.before],
    [`seq > coalesce((SELECT seq FROM ${from} WHERE id < $before ORDER BY id DESC LIMIT 1), 0)`, earlier],
    [`seq < coalesce((SELECT seq FROM ${from} WHERE id >= $before ORDER BY id LIMIT 1), 9e15)`, later],
    // The plus keeps SQLite from finding the rows by their ids, which it would have to sort.
    ["+id >=", first],
    ["+id <", end],
  ];
}

export function toWhere(conditions: Condition[]): { where: string; values: ReadValue[] } {
  const given = conditions.filter(([, value]) => value !== undefined);
  const terms = given.map(([sql], index) =>
    sql.includes("$before") ? sql.replace("$before", `$${index + 1}`) : `${sql} ($${index + 1})`,
  );
  return { where: terms.length > 0 ? `WHERE ${terms.join(" AND ")}` : "", values: given.map(([, value]) => value) };
}

/** How many rows of a table meet each of the conditions. Counting ends at `max`. */
export async function countEach({ all }: Reader, from: string, conditions: string[], max: number): Promise<number[]> {
  const counts = conditions.map(
    (condition, place) => `SELECT ${place} AS place, (SELECT count(*) FROM
      (SELECT 1 FROM ${from} WHERE ${condition} LIMIT +$1::int) AS counted) AS count`,
  );
  const found = await all(`${counts.join(" UNION ALL ")} ORDER BY place`, [max]);
  return found.map(({ count }) => integer(count));
}
