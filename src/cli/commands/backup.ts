import { existsSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { readConfig } from "../../config/load.ts";
import { backUpDatabase } from "../../journal/sqlite/backup.ts";
import { locateConfig, workingFolder } from "../context.ts";

/**
 * Writes the journal into one file, while the service runs or when it does not, and how far mailboxes are read into another of
 * the same name with `.mail` behind it, where there is a mailbox. Both or none.
 */
export async function backup(file: string, flags: { config?: string }): Promise<void> {
  const { config } = await readConfig(locateConfig(flags.config), process.env);
  const target = path.resolve(workingFolder(), file);
  for (const written of await backUpState(config.store.path, target))
    console.log(`${written}: ${statSync(written).size} bytes, checked.`);
}

async function backUpState(folder: string, target: string): Promise<string[]> {
  const [mails, journal] = [path.join(folder, "mail.db"), path.join(folder, "journal.db")];
  const written: string[] = [];
  try {
    // The mails first: one that comes meanwhile is in the journal, and known there when it comes again. The other way it would be lost.
    if (existsSync(mails)) written.push(await backUp(mails, `${target}.mail`));
    written.push(await backUp(journal, target));
    return written;
  } catch (error) {
    for (const half of written) rmSync(half, { force: true });
    throw error;
  }
}

async function backUp(file: string, target: string): Promise<string> {
  await backUpDatabase(file, target);
  return target;
}
