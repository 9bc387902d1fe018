import type { ImapFlow } from "imapflow";
import type { Mailbox } from "../../config/schema/generated.ts";
import type { FollowOptions, MailBatch, MailSource } from "../source.ts";
import { resolveAddress, toMailboxUrl } from "./address.ts";
import { createLogin, disconnect, openFolder } from "./connect.ts";
import { toMailError } from "./errors.ts";
import { followFolder, type Timing } from "./follow.ts";
import { createTries } from "./reader.ts";

export interface ImapOptions {
  /** `hooks.mail.source` of kind `imap`. */
  source: Mailbox;
  timing?: Partial<Timing>;
}

const TIMING: Timing = { renewMs: 240_000, pollMs: 60_000, answerMs: 60_000 };

/** Reads a mailbox over IMAP (RFC 3501), with a connection for each folder. Throws a `MailError` where the settings cannot work. */
export function createImap({ source, timing: given }: ImapOptions): MailSource {
  const address = resolveAddress(source);
  const logIn = createLogin(address, source);
  const folders: string[] = source.folders ?? ["INBOX"];
  const timing = { ...TIMING, ...given };
  const tries = createTries();

  async function check(signal: AbortSignal): Promise<void> {
    const client = await logIn(signal);
    try {
      for (const folder of folders) await look(client, folder);
    } finally {
      await disconnect(client);
    }
  }

  async function look(client: ImapFlow, folder: string): Promise<void> {
    try {
      await openFolder(client, folder, timing.answerMs);
    } catch (error) {
      throw toMailError(error, address, folder);
    }
  }

  async function* follow(folder: string, options: FollowOptions): AsyncGenerator<MailBatch> {
    let client: ImapFlow | undefined;
    try {
      client = await logIn(options.signal);
      yield* followFolder(client, folder, { options, timing, tries });
    } catch (error) {
      if (!options.signal.aborted) throw toMailError(error, address, folder);
    } finally {
      if (client) await disconnect(client);
    }
  }

  const addresses = address.user.includes("@") ? [address.user.toLowerCase()] : [];
  return { name: "imap", mailbox: toMailboxUrl(address), addresses, folders, check, follow };
}

/** The folders of a mailbox that can be followed, INBOX first. Rejects with a `MailError`. */
export async function listFolders(source: Mailbox, signal: AbortSignal): Promise<string[]> {
  const address = resolveAddress(source);
  const client = await createLogin(address, source)(signal);
  try {
    const listed = await client.list();
    const paths = listed.filter(({ flags }) => !flags.has("\\Noselect")).map(({ path }) => path);
    return paths.toSorted((one, other) => Number(other === "INBOX") - Number(one === "INBOX"));
  } catch (error) {
    throw toMailError(error, address);
  } finally {
    await disconnect(client);
  }
}
