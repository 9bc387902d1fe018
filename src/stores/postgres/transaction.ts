import { JournalUnavailable } from "../../core/errors.ts";
import type { Change, NewWork } from "../../core/journal/journal.ts";
import { type Row, text } from "../../core/journal/columns.ts";
import type { ChangeReport } from "../../core/journal/writes/writer.ts";
import type { Sql, TransactionSql } from "./database.ts";
import { toJson } from "./text.ts";

/** A transaction as the operations of the journal use it. */
export interface Transaction extends TransactionSql {
  /** Id of this process. */
  node: string;
  /** By how many milliseconds the database's clock is ahead of the clock of this process. */
  clockOffsetMs: number;
  /** An earlier attempt may have been committed. */
  isRepeated: boolean;
  /** The token of a claim: a number that no other has. A result under another one changes nothing. */
  createToken(): number;
  /** Listeners, also on other nodes, learn of the work after the commit. */
  announce(work: NewWork): void;
  /** Listeners for changes, also on other nodes, get the change after the commit. */
  report(change: Change): void;
  /** Whether any node wants to know of changes. */
  isWatched(): Promise<boolean>;
}

/* Names of locks that last until the end of the transaction, as in `writes/writer.ts`. */

export const mappingLock = (mapping: string): string => `mapping ${mapping}`;
export const stateLock = ({ name, key }: { name: string; key: string }): string => `state ${name} ${key}`;

/** In one order in all transactions, so that they cannot wait for each other in a circle. */
export async function lock({ run }: Pick<Sql, "run">, names: Iterable<string>): Promise<void> {
  const unique = [...new Set(names)];
  if (unique.length > 0) await run(LOCK, [unique]);
}

const LOCK = `
  SELECT count(pg_advisory_xact_lock(hash)) FROM (
    SELECT DISTINCT hashtextextended(name, 0) AS hash FROM unnest($1::text[]) AS name ORDER BY hash OFFSET 0) AS names`;

/**
 * Statements of one round trip that commit the rows of `json_to_recordset`. The planner takes these rows for a hundred
 * and may read a whole table to join them. It looks up `= ANY(ARRAY(SELECT …))` in the index.
 */
export class Batch {
  #parts: string[] = [];
  #values: (string | Buffer)[] = [];

  /** Adds a statement over rows, unless there are none. In its text `$rows` is their table function's argument. */
  add(name: string, rows: readonly object[], sql: string, extra?: Buffer): this {
    if (rows.length === 0) return this;
    this.#values.push(toJson(rows));
    let statement = sql.replaceAll("$rows", `$${this.#values.length}::json`);
    if (extra) statement = statement.replaceAll("$extra", `$${this.#values.push(extra)}::bytea`);
    return this.addOver(name, statement);
  }

  /** Adds a statement over earlier parts. */
  addOver(name: string, sql: string): this {
    this.#parts.push(`${name} AS MATERIALIZED (${sql})`);
    return this;
  }

  /** Runs all statements at once; they do not see each other's changes. `select` gives the result. */
  async run({ get }: Sql, select: string): Promise<Row | undefined> {
    return this.#parts.length === 0 ? undefined : get(this.#toSql(select), this.#values);
  }

  /** The same together with the commit. */
  runWithCommit({ withCommit }: TransactionSql, select: string): void {
    if (this.#parts.length > 0) withCommit(this.#toSql(select), this.#values);
  }

  #toSql(select: string): string {
    return `WITH ${this.#parts.join(",\n")} SELECT ${select}`;
  }
}

/** Reports each change, and after it the event of its run and those that joined it. Without a watcher nothing is read. */
export async function reportAll(transaction: Transaction, reports: ChangeReport[]): Promise<void> {
  if (reports.length === 0 || !(await transaction.isWatched())) return;
  const ids = reports.flatMap((report) => runOf(report) ?? []);
  const rows = await transaction.all(
    "SELECT run_id, event_id FROM hookline.joined_events WHERE run_id = ANY($1::uuid[]) ORDER BY place",
    [ids],
  );
  const joined = Map.groupBy(rows, (row: Row) => text(row.run_id));
  for (const report of reports) {
    const { runId: _, ...change } = report;
    transaction.report(change);
    if (report.kind === "session" || report.eventId === undefined) continue;
    const others = joined.get(runOf(report) ?? "")?.map((row) => text(row.event_id)) ?? [];
    for (const id of [report.eventId, ...others]) transaction.report({ kind: "event", id });
  }
}

/** Undefined: it has no event. */
function runOf(report: ChangeReport): string | undefined {
  return report.kind === "session" || report.eventId === undefined ? undefined : (report.runId ?? report.id);
}

/** Most operations in one commit: each can take a lock of the database's shared table. */
const MAX_GROUP = 128;

/** While one commit waits for the database's disk, the next is prepared. */
const MAX_IN_FLIGHT = 2;

interface Group<Item, Result> {
  add(item: Item): Promise<Result>;
  /** Resolves when everything that was added is committed or refused; later items are refused. */
  close(): Promise<void>;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** One commit for everything that arrives while others are in flight. An item that fails does so alone. */
export function createGroup<Item, Result>(commit: (items: Item[]) => Promise<Result[]>): Group<Item, Result> {
  const queue: Waiting<Item, Result>[] = [];
  const inFlight = new Set<Promise<void>>();
  let scheduled = false;
  let closed = false;

  return {
    add(item) {
      if (closed) return Promise.reject(new JournalUnavailable("the journal is closed"));
      return new Promise((resolve, reject) => {
        queue.push({ item, resolve, reject });
        schedule();
      });
    },
    async close() {
      closed = true;
      while (queue.length > 0 || inFlight.size > 0) {
        fill();
        await Promise.race(inFlight);
      }
    },
  };

  /** The end of this turn of the event loop, when all requests that arrived with it are read. */
  function schedule(): void {
    if (scheduled || inFlight.size === MAX_IN_FLIGHT) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      fill();
    });
  }

  function fill(): void {
    while (queue.length > 0 && inFlight.size < MAX_IN_FLIGHT) {
      const task = commitAll(queue.splice(0, MAX_GROUP)).finally(() => {
        inFlight.delete(task);
        if (queue.length > 0) fill();
      });
      inFlight.add(task);
    }
  }

  async function commitAll(group: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await commit(group.map(({ item }) => item));
      for (const [index, { resolve }] of group.entries()) resolve(results[index]!);
    } catch (error) {
      if (error instanceof JournalUnavailable) for (const { reject } of [...group, ...queue.splice(0)]) reject(error);
      else if (group.length > 1) for (const waiting of group) await commitAll([waiting]);
      else group[0]?.reject(error);
    }
  }
}
