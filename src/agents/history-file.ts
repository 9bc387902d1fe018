import { rmSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { HistoryEntry } from "./port.ts";

/** Those in use. */
const folders = new Set<string>();

// A service that is told to end at once does not wait for its turns, and leaves nothing of a session behind.
process.on("exit", () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Does work with a file, readable by this user only, that holds the history as JSON: an array of `{ role, text }`. */
export async function withHistoryFile<Result>(
  history: HistoryEntry[],
  work: (file: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(path.join(tmpdir(), "hookline-turn-"));
  folders.add(folder);
  try {
    const file = path.join(folder, "history.json");
    await writeFile(file, JSON.stringify(history), { mode: 0o600 });
    return await work(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
    folders.delete(folder);
  }
}
