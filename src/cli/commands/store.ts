import type { Command } from "commander";
import type { ResolvedConfig } from "../../config/types.ts";
import type { MigratedTable, MigrationProgress } from "../../journal/migration/migrate.ts";
import { createTelemetry } from "../../telemetry/telemetry.ts";
import { CONFIG_HELP, toDatabaseUrl, UsageError } from "../command.ts";
import { loadConfig } from "../context.ts";
import { formatDuration, formatTable } from "../format.ts";
import { type CliIo, print, printError, printJson } from "../io.ts";

interface MigrateFlags {
  to?: string;
  config?: string;
  json: boolean;
}

export function addStore(program: Command, io: CliIo): void {
  const store = program.command("store").description("Move the state to a database.");
  store
    .command("migrate")
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
    .option("--config <file>", CONFIG_HELP)
    .option("--json", "print one JSON object", false)
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
      ["TABLE", "ROWS", "CHECKSUM OF BOTH SIDES"],
      tables.map(({ table, rows, checksum }) => [table, rows, checksum]),
    ),
    "",
    `Every row is in the database: copied and compared in ${formatDuration(took)}.`,
    ...describeNext(config, to, io),
  );
}

async function copyState(folder: string, url: string, io: CliIo): Promise<MigratedTable[]> {
  // Imported late: the other commands start without the database's driver.
  const { migrateJournal } = await import("../../journal/migration/migrate.ts");
  const { openMailSources } = await import("../../mail/migration.ts");
  const { log } = createTelemetry("warn", { output: io.stderr });
  const progress = createProgress(io);
  try {
    return await migrateJournal({ folder, url, openOthers: openMailSources, log, onProgress: progress.show });
  } finally {
    progress.end();
  }
}

/** What to change in the configuration. Without the password, which belongs into a file or a variable. */
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
