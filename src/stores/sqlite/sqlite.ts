import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { ConfigError, JournalUnavailable } from "../../core/errors.ts";
import { once } from "../../core/shared/once.ts";
import type { Telemetry } from "../../core/telemetry/telemetry.ts";
import type { Journal } from "../../core/journal/journal.ts";
import { bytes } from "../../core/journal/columns.ts";
import { acceptEvent, findReplay } from "./accept.ts";
import { claimRuns, claimSuspect, nextDueAt, nextSuspectAt } from "./claim.ts";
import { type Database, openMigrated, type Schema, toUnavailable } from "./database.ts";
import { LOCK_FILE, makeFolder, ownFolder, toConfigError } from "./folder.ts";
import { reportLog } from "./log-check.ts";
import { claimDeliveries, finishDelivery } from "./deliveries.ts";
import { createGroupCommit, type GroupCommit, type Transaction } from "./group-commit.ts";
import { readStoreId } from "../../core/journal/reads/published.ts";
import { createNode, type Node } from "./node.ts";
import { noteServed, type Served } from "../../core/journal/writes/turns.ts";
import { createReader, readStats } from "./read.ts";
import { createRecovery, giveBack, type Recovery } from "./recovery.ts";
import { sweep, usedBytes } from "./retention.ts";
import { endRun } from "./runs.ts";
import { createPublicationReads, createReads, type Read } from "../../core/journal/reads/index.ts";
import { createPublicationWrites, createWrites, type Write } from "../../core/journal/writes/index.ts";
import { toCompletion, toFailure } from "../../core/journal/writes/run-end.ts";
import { createSign } from "../../core/shared/secret.ts";
import { createCounters } from "./counters.ts";
import { JOURNAL_SCHEMA } from "./schema.ts";
import { createSearcher, type Searcher } from "./search.ts";
import { copyAndLog, sync } from "./upgrade-copy.ts";
import { createWriter, finish } from "./writer.ts";

export interface SqliteJournalOptions {
  /** The state folder. */
  folder: string;
  telemetry: Telemetry;
}

/**
 * The journal in one SQLite file, `journal.db` in the folder. One process owns the folder; others may read the file.
 * Rejects with a `ConfigError` if the folder or the file cannot be used.
 */
export async function createSqliteJournal(options: SqliteJournalOptions): Promise<Journal> {
  const { folder, telemetry } = options;
  const { log } = telemetry;
  makeFolder(folder, log);
  const wasUsed = existsSync(path.join(folder, LOCK_FILE));
  const owner = ownFolder(folder);
  const file = fileIn(folder);
  let opened: Database | undefined;
  try {
    if (wasUsed) requireContent(file);
    createJournalFile(file);
    const database = openMigrated(file, JOURNAL_SCHEMA, copyAndLog(log));
    opened = database;
    reportLog(database, file, log);
    requireNotMoved(database, file);
    const counters = createCounters(database);
    const requireFiles = owner.guard([file, `${file}-wal`], log);
    const commits = createGroupCommit(database, log, {
      begin: counters.begin,
      end() {
        counters.write();
        requireFiles();
      },
    });
    const transaction = { ...database, ...commits, counters };
    const node = createNode();
    const recovery = createRecovery(transaction, node, log);
    recovery.begin();
    return createJournal(transaction, {
      commits,
      recovery,
      node,
      searcher: createSearcher(file),
      close() {
        database.close();
        owner.release();
      },
    });
  } catch (error) {
    opened?.close();
    owner.release();
    throw error instanceof ConfigError ? error : toConfigError(file, "the journal cannot be opened", error);
  }
}

/** Opens an existing journal file for this process alone. Throws a `ConfigError` if it cannot be used. */
export function openJournalFile(folder: string): { database: Database; release(): void } {
  const file = fileIn(folder);
  if (!existsSync(file)) throw new ConfigError([{ message: "The file does not exist.", file, key: "store.path" }]);
  const owner = ownFolder(folder);
  try {
    const database = openMigrated(file, JOURNAL_SCHEMA);
    return { database, release: owner.release };
  } catch (error) {
    owner.release();
    throw error instanceof ConfigError ? error : toConfigError(file, "the journal cannot be opened", error);
  }
}

/** A crash of this program leaves no empty file: another program, or a disk that was full during a copy, has emptied it. */
function requireContent(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.size !== 0) return;
  const message =
    "the file is empty, although a service has used this folder: restore a backup, or remove the file to begin anew";
  throw new ConfigError([{ message, file, key: "store.path" }]);
}

/** A file that nobody reads before it is on disk needs no journal of its own. */
const CREATION: Schema = { ...JOURNAL_SCHEMA, pragmas: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF" };

/** Under another name until it is whole. */
function createJournalFile(file: string): void {
  if (existsSync(file)) return;
  const fresh = `${file}-new`;
  for (const each of [fresh, `${fresh}-wal`, `${fresh}-shm`]) rmSync(each, { force: true });
  const database = openMigrated(fresh, CREATION);
  database.exec("PRAGMA journal_mode = WAL");
  database.close();
  sync(fresh);
  renameSync(fresh, file);
  sync(path.dirname(file));
}

/** Refuses a journal that was migrated: events that it accepts now would not be in the database. */
function requireNotMoved(database: Database, file: string): void {
  if (database.get("SELECT 1 FROM migration WHERE is_done = 1")) {
    const message = "this journal was migrated to PostgreSQL; set store.url to that database, or set another folder";
    throw new ConfigError([{ message, file, key: "store.path" }]);
  }
  database.run("DELETE FROM migration");
}

export function readSigningKey({ get }: Pick<Database, "get">): Uint8Array {
  return bytes(get("SELECT key FROM signing_key")?.key);
}

function fileIn(folder: string): string {
  return path.join(folder, "journal.db");
}

interface Parts {
  commits: GroupCommit;
  recovery: Recovery;
  node: Node;
  searcher: Searcher;
  close(): void;
}

function createJournal(transaction: Transaction, { commits, recovery, node, searcher, close }: Parts): Journal {
  let closed = false;

  const write =
    <Args extends unknown[], Result>(operation: (transaction: Transaction, ...args: Args) => Result) =>
    (...args: Args): Promise<Result> =>
      commits.write(() => operation(transaction, ...args));

  const writer = createWriter(transaction);
  const writeShared: Write =
    (operation) =>
    (...args) =>
      commits.write(() => finish(operation(writer, ...args)));

  const reader = createReader(transaction);
  /** Between two commits the connection sees exactly what is committed. */
  const readWith =
    <Source, Args extends unknown[], Result>(
      source: Source,
      operation: (source: Source, ...args: Args) => Result | Promise<Result>,
    ) =>
    async (...args: Args): Promise<Result> => {
      if (closed) throw new JournalUnavailable("the journal is closed");
      try {
        return await operation(source, ...args);
      } catch (error) {
        throw toUnavailable(error) ?? error;
      }
    };

  const read: Read = (operation) => readWith(reader, operation);

  const claim =
    <Args extends unknown[], Result>(operation: (transaction: Transaction, ...args: Args) => Result) =>
    async (...args: Args): Promise<Result> => {
      await recovery.finish();
      return commits.write(() => operation(transaction, ...args));
    };

  const requireOpen = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (closed) throw new JournalUnavailable("the journal is closed");
    return work();
  };

  const end = write(endRun);

  const served: Served = new Set();

  return {
    ...createReads(read),
    ...createWrites(writeShared, read),

    accept: write(acceptEvent),
    findReplay: readWith(transaction, findReplay),

    async claimRuns(...options) {
      const runs = await claim(claimRuns)(served, ...options);
      noteServed(served, runs);
      return runs;
    },
    completeRun: (...done) => end(toCompletion(...done)),
    deadLetterRun: (...failed) => end(toFailure(...failed)),

    claimDeliveries: claim(claimDeliveries),
    claimSuspect: claim((each, ...options) => claimSuspect(each, node, ...options)),
    finishDelivery: write(finishDelivery),
    nextDueAt: readWith(transaction, nextDueAt),
    nextSuspectAt: readWith(transaction, nextSuspectAt),

    keepLease: async () => true,
    async renewNode() {
      // While nothing can be committed, there is no sign of life.
      if (node.needsSign()) await claim(() => node.sign(writer))().catch(() => undefined);
      return { runs: 0, deliveries: 0 };
    },
    nodes: async () => [],
    lease: async (name) => ({ name, token: 1 }),
    releaseLease: async () => undefined,
    watch: commits.watch,
    watchChanges: commits.watchChanges,

    searchEvents: (search, before) => requireOpen(() => searcher.searchEvents(search, before)),
    countByMapping: (from) => requireOpen(() => searcher.countByMapping(from)),

    publications: {
      ...createPublicationReads(read),
      ...createPublicationWrites(writeShared),
      storeId: once(read(readStoreId)),
    },

    sign: createSign(readSigningKey(transaction)),
    stats: readWith(transaction, readStats),
    // A write that changes something, so that it fails whenever a commit would.
    probe: write(({ run }) => void run("UPDATE totals SET probes = probes + 1")),
    sweep: write(sweep),
    usedBytes: readWith(transaction, usedBytes),
    async close() {
      if (closed) return;
      closed = true;
      commits.write(() => giveBack(transaction, node)).catch(() => undefined);
      commits.close();
      await searcher.close();
      close();
    },
  };
}
