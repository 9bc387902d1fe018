import type { Command } from "commander";
import { existsSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { readConfig } from "../../config/load.ts";
import { ConfigError } from "../../errors.ts";
import { backUpDatabase } from "../../journal/backup.ts";
import { CONFIG_HELP } from "../command.ts";
import { locateConfig } from "../context.ts";
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
  const { config } = await readConfig(locateConfig(flags.config, io), io.env);
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
