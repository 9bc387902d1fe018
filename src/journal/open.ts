import type { ResolvedConfig } from "../config/types.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Journal } from "./journal.ts";
import { createSqliteJournal } from "./sqlite/sqlite.ts";

/** Opens the journal that the configuration names. Rejects with a `ConfigError` if it cannot be used. */
export async function openJournal(store: ResolvedConfig["store"], telemetry: Telemetry): Promise<Journal> {
  if (!store.postgres) return createSqliteJournal({ folder: store.path, telemetry });
  const { createPostgresJournal } = await import("./postgres/postgres.ts");
  return createPostgresJournal({ ...store.postgres, telemetry });
}
