import type { Command } from "commander";
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import { ConfigError, messageOf } from "../../core/errors.ts";
import { withPeriod } from "../../core/shared/text/text.ts";
import type { MigratedTable, MigrationProgress } from "../../stores/migration/migrate.ts";
import { copyDatabase, openDatabase } from "../../stores/sqlite/database.ts";
import { createTelemetry } from "../../core/telemetry/telemetry.ts";
import { addConfigOptions, type ConfigFlags, toDatabaseUrl, UsageError } from "../command.ts";
import { loadConfig } from "../context.ts";
import { formatDuration, formatTable } from "../format.ts";
import { type CliIo, print, printError, printJson } from "../io.ts";

type MigrateFlags = ConfigFlags & { to?: string };

export function addStore(program: Command, io: CliIo): void {
  const store = program.command("store").description("Move the state to a database.");
  addConfigOptions(store.command("migrate"))
    .summary("Move the state from the file to PostgreSQL, while the service is stopped.")
    .description(
      "Copy the journal and the state of mailboxes from the state folder to a PostgreSQL database, while the service is " +
        "stopped, and compare both. If it is interrupted, run it again: it continues. Nothing is removed from the folder.",
    )
    .option(
      "--to <url>",
      "the database: postgres://user@host:5432/database (default: store.url); password from $PGPASSWORD",
      toDatabaseUrl,
    )
    .action((flags: MigrateFlags) => migrate(flags, io));
}

async function migrate({ to, config: file, json }: MigrateFlags, io: CliIo): Promise<void> {
  const { config } = await loadConfig(file, io);
  const url = to ?? config.store.postgres?.url;
  if (url === undefined) throw new UsageError("Name the database with --to, or set store.url.");
  const startedAt = Date.now();
  const tables = await copyState(config.store.path, url, io);
  const took = Date.now() - startedAt;
  if (json) return printJson(io, { ok: true, tables, seconds: took / 1000 });
  print(
    io,
    ...formatTable(
      tables.map(({ table, rows, checksum }) => ({ TABLE: table, ROWS: rows, "CHECKSUM OF BOTH SIDES": checksum })),
    ),
    "",
    `Every row is in the database: copied and compared in ${formatDuration(took)}.`,
    ...describeNext(config, to, io),
  );
}

async function copyState(folder: string, url: string, io: CliIo): Promise<MigratedTable[]> {
  // Imported late: the other commands start without the database's driver.
  const { migrateJournal } = await import("../../stores/migration/migrate.ts");
  const { openMailSources } = await import("../../mail/migration.ts");
  const { log } = createTelemetry("warn", { output: io.stderr });
  const progress = createProgress(io);
  try {
    return await migrateJournal({ folder, url, openOthers: openMailSources, log, onProgress: progress.show });
  } finally {
    progress.end();
  }
}

/** Changes to make in the configuration. Without the password, which belongs into a file or a variable. */
function describeNext({ store }: ResolvedConfig, to: string | undefined, io: CliIo): string[] {
  const tidy =
    store.retention.maxBytes === undefined ? [] : ["Remove store.retention.maxBytes, which PostgreSQL does not have."];
  const keep = `Keep ${store.path} until the service has run on the database, and do not start a service on it again.`;
  if (to === undefined) return [...tidy, "Start the service: store.url names this database already.", keep];
  const url = new URL(to);
  const hasPassword = url.password !== "" || io.env["PGPASSWORD"] !== undefined;
  url.password = "";
  const password = hasPassword ? ', password: "${file:/run/secrets/password}"' : "";
  const block = `  store: { url: ${JSON.stringify(url.href)}${password} }`;
  return ["Put this into the configuration, and start the service:", "", block, "", ...tidy, keep];
}

const LINE_EVERY_MS = 2000;

/** One line that changes on a terminal; elsewhere a line every two seconds. */
function createProgress(io: CliIo) {
  const isTerminal = io.stderr.isTTY === true;
  let lastAt = 0;
  let isOpen = false;
  return {
    show({ step, table, rows, total }: MigrationProgress) {
      const line = `${step} ${table}: ${rows} of ${total} rows`;
      const now = Date.now();
      if (isTerminal) {
        io.stderr.write(`\r\u001B[2K${line}`);
        isOpen = true;
      } else if (now - lastAt >= LINE_EVERY_MS) {
        lastAt = now;
        printError(io, line);
      }
    },
    end() {
      if (isOpen) io.stderr.write("\r\u001B[2K");
    },
  };
}

export function addBackup(program: Command, io: CliIo): void {
  addConfigOptions(program.command("backup"))
    .description(
      "Write the journal into one file, and the position in the mailbox into <file>.mail; also while serving.",
    )
    .argument("<file>", "a file that does not exist yet")
    .action((file: string, flags: ConfigFlags) => backUp(file, flags, io));
}

async function backUp(file: string, flags: ConfigFlags, io: CliIo): Promise<void> {
  const { config } = await loadConfig(flags.config, io);
  if (config.store.postgres) throw new ConfigError([{ key: "store.url", message: USE_PG_DUMP }]);
  const written = await backUpState(config.store.path, path.resolve(io.cwd, file));
  const files = written.map((name) => ({ file: name, bytes: statSync(name).size, schemaVersion: readVersion(name) }));
  if (flags.json) return printJson(io, { ok: true, files });
  print(io, ...files.map((one) => `${one.file}: ${one.bytes} bytes, schema version ${one.schemaVersion}, checked.`));
}

const USE_PG_DUMP =
  "The state is in PostgreSQL, which has its own backup: run pg_dump --format=custom --schema=hookline, or archive its log.";

/** Writes all of the files or none, and returns them. */
async function backUpState(folder: string, target: string): Promise<string[]> {
  const [mails, journal] = [path.join(folder, "mail.db"), path.join(folder, "journal.db")];
  const written: string[] = [];
  try {
    // The mailbox first: a mail that arrives in between is in the journal, which recognizes it when it comes again. In the
    // other order it would be lost.
    if (existsSync(mails)) {
      await backUpDatabase(mails, `${target}.mail`);
      written.push(`${target}.mail`);
    }
    await backUpDatabase(journal, target);
    return [...written, target];
  } catch (error) {
    for (const half of written) rmSync(half, { force: true });
    throw error;
  }
}

const BUSY_TIMEOUT_MS = 5000;

/**
 * Copies an SQLite file to a new file, as of one point in time, while a service may be writing to it. The copy appears
 * complete and checked, or not at all. Throws a `ConfigError` if it exists already or cannot be created.
 */
async function backUpDatabase(file: string, target: string): Promise<void> {
  if (!existsSync(file)) throw toConfigError(file, "The file does not exist: nothing was written.");
  if (existsSync(target)) throw toConfigError(target, "The file exists already: nothing was written.");
  const partial = `${target}.partial`;
  try {
    rmSync(partial, { force: true });
    // Only its owner may read it: it holds payloads.
    closeSync(openSync(partial, "wx", 0o600));
    await copyDatabase(file, partial);
    finish(partial);
    renameSync(partial, target);
  } catch (error) {
    rmSync(partial, { force: true });
    throw toConfigError(target, `The backup cannot be written: ${withPeriod(messageOf(error))}`);
  }
}

/** The version of the program's schema that the file has. */
function readVersion(file: string): number {
  const copy = openDatabase(file, { busyTimeoutMs: BUSY_TIMEOUT_MS, readOnly: true });
  try {
    return Number(copy.get("PRAGMA user_version")?.user_version);
  } finally {
    copy.close();
  }
}

/** Turns the copy into a single file without a write-ahead log, and checks it. */
function finish(file: string): void {
  const copy = openDatabase(file, { busyTimeoutMs: BUSY_TIMEOUT_MS });
  try {
    copy.exec("PRAGMA journal_mode = DELETE");
    const result = copy.get("PRAGMA quick_check")?.quick_check;
    if (result !== "ok") throw new Error(`the copy is damaged: ${String(result)}`);
  } finally {
    copy.close();
  }
}

function toConfigError(file: string, message: string): ConfigError {
  return new ConfigError([{ message, file }]);
}
