import { rm } from "node:fs/promises";
import type { ResolvedConfig } from "../core/config/resolved-config.ts";
import type { Journal } from "../core/journal/journal.ts";
import type { PostgresJournal } from "../stores/postgres/postgres.ts";
import { createSqliteJournal } from "../stores/sqlite/sqlite.ts";
import type { RefreshTokens } from "../core/ports/mail-source.ts";
import { createRefreshTokens, type MailStore, openMailStore } from "../mail/store.ts";
import { toTempDir } from "../core/shared/system/temporary-folder.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { Telemetry } from "../core/telemetry/telemetry.ts";

/** Opens the journal that the configuration names. Rejects with a `ConfigError` if it cannot be used. */
export async function openJournal(store: ResolvedConfig["store"], telemetry: Telemetry): Promise<Journal> {
  if (!store.postgres) {
    const journal = await createSqliteJournal({ folder: store.path, telemetry });
    // Nobody else uses the state folder now: these files are of a service that was killed.
    await rm(toTempDir(store), { recursive: true, force: true });
    return journal;
  }
  const { createPostgresJournal } = await import("../stores/postgres/postgres.ts");
  return createPostgresJournal({ ...store.postgres, telemetry });
}

/** Where mailboxes are stored: in the journal's database, or in a file of the state folder. */
export function createMailStores(
  store: ResolvedConfig["store"],
  journal: Journal,
  log: Log,
): (mailbox: string) => Promise<MailStore | undefined> {
  return async (mailbox) => {
    if (!isPostgres(journal)) return openMailStore({ folder: store.path, mailbox, log });
    const { openPostgresMailStore } = await import("../mail/postgres-store.ts");
    return openPostgresMailStore({ journal, mailbox });
  };
}

/** Where the refresh tokens of mailboxes are kept, for channels that send from them. */
export function createTokenStores(
  store: ResolvedConfig["store"],
  journal: () => Journal,
): (mailbox: string) => RefreshTokens {
  return (mailbox) => {
    if (!store.postgres) return createRefreshTokens({ folder: store.path, mailbox });
    const open = async (): Promise<RefreshTokens> => {
      const { createPostgresRefreshTokens } = await import("../mail/postgres-store.ts");
      const opened = journal();
      if (!isPostgres(opened)) throw new Error("The journal is not in PostgreSQL.");
      return createPostgresRefreshTokens({ journal: opened, mailbox });
    };
    return {
      find: async (configured) => (await open()).find(configured),
      replace: async (configured, token) => (await open()).replace(configured, token),
    };
  };
}

function isPostgres(journal: Journal): journal is PostgresJournal {
  return "commit" in journal;
}
