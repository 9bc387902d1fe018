import type { ResolvedConfig } from "../config/types.ts";
import type { Journal } from "../journal/journal.ts";
import type { PostgresJournal } from "../journal/postgres/postgres.ts";
import { type MailStore, openMailStore } from "./store.ts";

/** Where mailboxes are stored: in the journal's database, or in a file of the state folder. */
export function createMailStores(
  store: ResolvedConfig["store"],
  journal: Journal,
): (mailbox: string) => Promise<MailStore | undefined> {
  return async (mailbox) => {
    if (!isPostgres(journal)) return openMailStore({ folder: store.path, mailbox });
    const { openPostgresMailStore } = await import("./postgres-store.ts");
    return openPostgresMailStore({ journal, mailbox });
  };
}

function isPostgres(journal: Journal): journal is PostgresJournal {
  return "commit" in journal;
}
