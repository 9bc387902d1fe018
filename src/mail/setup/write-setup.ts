import { existsSync, readFileSync, rmSync } from "node:fs";
import { replaceFile } from "../../config/edit/replace-file.ts";
import type { SetupPlan } from "./plan-setup.ts";

/** Whether anything is left to write. */
export function isDone({ before, after, unwritten }: SetupPlan): boolean {
  return before === after && [...unwritten].every(([file, text]) => isWritten(file, text));
}

/**
 * Writes the secrets' files, each for its user alone, then the configuration. Throws a `ConfigError`, with no new file left
 * behind, where the configuration was changed since the plan was made.
 */
export function writeSetup({ file, before, after, unwritten }: SetupPlan): void {
  const pending = [...unwritten].filter(([secret, text]) => !isWritten(secret, text));
  const added = pending.map(([secret]) => secret).filter((secret) => !existsSync(secret));
  for (const [secret, text] of pending) replaceFile(secret, text, { mode: 0o600 });
  if (before === after) return;
  try {
    replaceFile(file, after, { expected: before ?? null });
  } catch (error) {
    for (const secret of added) rmSync(secret, { force: true });
    throw error;
  }
}

function isWritten(file: string, text: string): boolean {
  return existsSync(file) && readFileSync(file, "utf8") === text;
}
