import { statSync } from "node:fs";
import path from "node:path";
import { readConfig } from "../config/read-config.ts";
import { backupJournal } from "../journal/backup.ts";
import { locateConfig, workingFolder } from "./locate.ts";

/** Writes the journal into one file, while the service runs or when it does not. */
export async function backup(file: string, flags: { config?: string }): Promise<void> {
  const { config } = await readConfig(locateConfig(flags.config), process.env);
  const target = path.resolve(workingFolder(), file);
  await backupJournal(config.store.path, target);
  console.log(`${target}: ${statSync(target).size} bytes, checked.`);
}
