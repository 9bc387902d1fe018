import type { ResolvedConfig } from "../config/types.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Journal } from "./journal.ts";
import { createSqliteJournal } from "./sqlite/sqlite.ts";

/** Opens the journal that the configuration names. Rejects with a `ConfigError` if it cannot be used. */
export function openJournal(store: ResolvedConfig["store"], telemetry: Telemetry): Promise<Journal> {
  return createSqliteJournal({ folder: store.path, telemetry });
}
