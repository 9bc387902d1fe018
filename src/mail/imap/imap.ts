import type { FollowOptions, MailBatch, MailSource } from "../source.ts";
import { createLogin, disconnect, openFolder } from "./connect.ts";
import { toMailError } from "./errors.ts";
import type { Failures } from "./fetch.ts";
import { followFolder, type Timing } from "./follow.ts";
import { type ImapOptions, resolveServer, toMailboxUrl } from "./options.ts";

const TIMING: Timing = { renewMs: 30_000, pollMs: 60_000, answerMs: 60_000 };

/** Reads a mailbox over IMAP (RFC 3501), with one connection for each folder. */
export function createImap(options: ImapOptions, timings: Partial<Timing> = {}): MailSource {
  const server = resolveServer(options);
  const logIn = createLogin(server, options);
  const { folders } = options;
  const timing = { ...TIMING, ...timings };
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

  async function* follow(folder: string, request: FollowOptions): AsyncGenerator<MailBatch> {
    const client = await logIn(request.signal, request.refreshTokens);
    try {
      yield* followFolder(client, folder, { options: request, timing, failures });
    } catch (error) {
      if (!request.signal.aborted) throw toMailError(error, server, folder);
    } finally {
      await disconnect(client);
    }
  }

  const addresses = server.user.includes("@") ? [server.user.toLowerCase()] : [];
  return { mailbox: toMailboxUrl(server), addresses, folders, check, follow };
}

/** Lists the folders that can be followed, INBOX first. Rejects with a `MailError`. */
export async function listFolders(source: Partial<ImapOptions>, signal: AbortSignal): Promise<string[]> {
  const options: ImapOptions = { host: "", user: "", tls: "implicit", folders: [], ...source };
  const server = resolveServer(options);
  const client = await createLogin(server, options)(signal);
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
