import type { Command } from "commander";
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { ConfigError, messageOf } from "../../errors.ts";
import { copyDatabase, openDatabase } from "../../journal/sqlite/database.ts";
import { CONFIG_HELP } from "../command.ts";
import { loadConfig } from "../context.ts";
import { type CliIo, print, printJson } from "../io.ts";

export function addBackup(program: Command, io: CliIo): void {
  program
    .command("backup")
    .description(
      "Write the journal into one file, and the position in the mailbox into <file>.mail; also while serving.",
    )
    .argument("<file>", "a file that does not exist yet")
    .option("--config <file>", CONFIG_HELP)
    .option("--json", "print one JSON object", false)
    .action((file: string, flags: Flags) => backUp(file, flags, io));
}

interface Flags {
  config?: string;
  json: boolean;
}

async function backUp(file: string, flags: Flags, io: CliIo): Promise<void> {
  const { config } = await loadConfig(flags.config, io);
  if (config.store.postgres) throw new ConfigError([{ key: "store.url", message: USE_PG_DUMP }]);
  const written = await backUpState(config.store.path, path.resolve(io.cwd, file));
  const files = written.map((name) => ({ file: name, bytes: statSync(name).size }));
  if (flags.json) printJson(io, { ok: true, files });
  else print(io, ...files.map((one) => `${one.file}: ${one.bytes} bytes, checked.`));
}

const USE_PG_DUMP =
  "the state is in PostgreSQL, which has its own backup: run pg_dump --format=custom --schema=hookline, or archive its log";

/** Writes all of the files or none, and returns them. */
async function backUpState(folder: string, target: string): Promise<string[]> {
  const [mails, journal] = [path.join(folder, "mail.db"), path.join(folder, "journal.db")];
  const written: string[] = [];
  try {
    // The mailbox first: a mail that arrives in between is in the journal, which recognises it when it comes again. In the
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
  if (!existsSync(file)) throw toConfigError(file, "the file does not exist: nothing was written");
  if (existsSync(target)) throw toConfigError(target, "the file exists already: nothing was written");
  const partial = `${target}.partial`;
  try {
    rmSync(partial, { force: true });
    // It holds payloads: only its owner may read it.
    closeSync(openSync(partial, "wx", 0o600));
    await copyDatabase(file, partial);
    finish(partial);
    renameSync(partial, target);
  } catch (error) {
    rmSync(partial, { force: true });
    throw toConfigError(target, `the backup cannot be written (${messageOf(error)})`);
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
