import type { ResolvedConfig } from "../../config/types.ts";
import { openSqliteMailStore } from "./sqlite.ts";
import type { MailStore } from "./store.ts";

/**
 * Opens the store of a mailbox for this process alone; undefined while another process has it. Rejects with a `ConfigError`
 * if the store cannot be used.
 */
export async function openMailStore(store: ResolvedConfig["store"], mailbox: string): Promise<MailStore | undefined> {
  return openSqliteMailStore({ folder: store.path, mailbox });
}
