import type { ResolvedConfig } from "./config/types.ts";
import type { Journal } from "./journal/journal.ts";
import type { PostgresJournal } from "./journal/postgres/postgres.ts";
import { createSqliteJournal } from "./journal/sqlite/sqlite.ts";
import { type MailStore, openMailStore } from "./mail/store.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";

/** Opens the journal that the configuration names. Rejects with a `ConfigError` if it cannot be used. */
export async function openJournal(store: ResolvedConfig["store"], telemetry: Telemetry): Promise<Journal> {
  if (!store.postgres) return createSqliteJournal({ folder: store.path, telemetry });
  const { createPostgresJournal } = await import("./journal/postgres/postgres.ts");
  return createPostgresJournal({ ...store.postgres, telemetry });
}

/** Where mailboxes are stored: in the journal's database, or in a file of the state folder. */
export function createMailStores(
  store: ResolvedConfig["store"],
  journal: Journal,
): (mailbox: string) => Promise<MailStore | undefined> {
  return async (mailbox) => {
    if (!isPostgres(journal)) return openMailStore({ folder: store.path, mailbox });
    const { openPostgresMailStore } = await import("./mail/postgres-store.ts");
    return openPostgresMailStore({ journal, mailbox });
  };
}

function isPostgres(journal: Journal): journal is PostgresJournal {
  return "commit" in journal;
}
