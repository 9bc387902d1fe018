import type { Mailbox } from "../../config/schema/generated.ts";
import type { FollowOptions, MailBatch, MailSource } from "../source.ts";
import { createLogin, disconnect, openFolder, resolveServer, toMailboxUrl } from "./connect.ts";
import { toMailError } from "./errors.ts";
import type { Failures } from "./fetch.ts";
import { followFolder, type Timing } from "./follow.ts";

export interface ImapOptions {
  /** `hooks.mail.source` of kind `imap`. */
  source: Mailbox;
  timing?: Partial<Timing>;
}

const TIMING: Timing = { renewMs: 240_000, pollMs: 60_000, answerMs: 60_000 };

/** Reads a mailbox over IMAP (RFC 3501), with one connection for each folder. */
export function createImap({ source, timing: given }: ImapOptions): MailSource {
  const server = resolveServer(source);
  const logIn = createLogin(server, source);
  const folders: string[] = source.folders ?? ["INBOX"];
  const timing = { ...TIMING, ...given };
  const failures: Failures = new Map();

  async function check(signal: AbortSignal): Promise<void> {
    const client = await logIn(signal);
    try {
      for (const folder of folders) {
        await openFolder(client, folder, timing.answerMs).catch((error: unknown) => {
          throw toMailError(error, server, folder);
        });
      }
    } finally {
      await disconnect(client);
    }
  }

  async function* follow(folder: string, options: FollowOptions): AsyncGenerator<MailBatch> {
    const client = await logIn(options.signal);
    try {
      yield* followFolder(client, folder, { options, timing, failures });
    } catch (error) {
      if (!options.signal.aborted) throw toMailError(error, server, folder);
    } finally {
      await disconnect(client);
    }
  }

  const addresses = server.user.includes("@") ? [server.user.toLowerCase()] : [];
  return { name: "imap", mailbox: toMailboxUrl(server), addresses, folders, check, follow };
}

/** Lists the folders that can be followed, INBOX first. Rejects with a `MailError`. */
export async function listFolders(source: Mailbox, signal: AbortSignal): Promise<string[]> {
  const server = resolveServer(source);
  const client = await createLogin(server, source)(signal);
  try {
    const listed = await client.list();
    const paths = listed.filter(({ flags }) => !flags.has("\\Noselect")).map(({ path }) => path);
    return paths.toSorted((one, other) => Number(other === "INBOX") - Number(one === "INBOX"));
  } catch (error) {
    throw toMailError(error, server);
  } finally {
    await disconnect(client);
  }
}
