import { ImapFlow, type MailboxObject } from "imapflow";
import type { Mailbox } from "../../config/schema/generated.ts";
import { MailError } from "../../errors.ts";
import { createAccessTokens, type RefreshOptions } from "../oauth.ts";
import type { ImapServerAddress } from "./address.ts";
import { connectionLost, toMailError } from "./errors.ts";
import { type FolderState, search } from "./position.ts";

type Credential = { password: string } | { accessToken: string };

const CONNECT_MS = 30_000;
/** A command that gets not a byte for so long has lost its connection. */
const SILENCE_MS = 300_000;
/** How long a server may take to say goodbye. */
const LOGOUT_MS = 1000;
/** Bounds on what a server can make this process hold. The largest that is asked for is half a megabyte. */
const MAX_BYTES = 16 * 1024 * 1024;

/** A connection that has logged in. It ends with the signal. Rejects with the library's error. */
async function connect(
  { host, port, tls, user }: ImapServerAddress,
  credential: Credential,
  signal: AbortSignal,
): Promise<ImapFlow> {
  signal.throwIfAborted();
  const client = new ImapFlow({
    host,
    port,
    secure: tls === "implicit",
    // Required with true: it never goes on in clear. With false it is not even tried.
    doSTARTTLS: tls === "implicit" ? undefined : tls === "starttls",
    auth: "password" in credential ? { user, pass: credential.password } : { user, ...credential },
    clientInfo: { name: "hookline", version: false, vendor: false, "support-url": false },
    // Its log holds what the mails do.
    logger: false,
    connectionTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    maxLineLength: MAX_BYTES,
    maxLiteralSize: MAX_BYTES,
    maxResponseSize: 2 * MAX_BYTES,
  });
  // Without a listener it would end the process. Whatever is under way rejects, too.
  client.on("error", () => undefined);
  const abort = (): void => void disconnect(client);
  signal.addEventListener("abort", abort, { once: true });
  // The signal outlives many connections.
  client.once("close", () => signal.removeEventListener("abort", abort));
  try {
    await client.connect();
  } catch (error) {
    client.close();
    throw error;
  }
  return client;
}

/** Says goodbye, or goes without where that takes long. Never rejects. */
export async function disconnect(client: ImapFlow): Promise<void> {
  const timer = setTimeout(() => client.close(), LOGOUT_MS);
  await client.logout().catch(() => undefined);
  clearTimeout(timer);
  client.close();
}

/** Opens a connection that has logged in. It ends with the signal. Rejects with a `MailError`. */
export type Login = (signal: AbortSignal) => Promise<ImapFlow>;

/** Logs in as the settings say. Throws a `MailError` where they name neither a password nor a way to get a token. */
export function createLogin(address: ImapServerAddress, { password, oauth }: Mailbox): Login {
  if (oauth?.tokenUrl) return createTokenLogin(address, { ...oauth, tokenUrl: oauth.tokenUrl });
  if (password) return (signal) => logIn(address, { password }, signal);
  throw new MailError(
    "login",
    "hooks.mail.source needs `password`, or `oauth` with a `tokenUrl`. Run `webhooks mail setup`.",
  );
}

function createTokenLogin(address: ImapServerAddress, oauth: RefreshOptions): Login {
  const tokens = createAccessTokens(oauth);
  return async function logInByToken(signal) {
    const accessToken = await tokens.get(signal);
    try {
      return await logIn(address, { accessToken }, signal);
    } catch (error) {
      if (!(error instanceof MailError) || error.kind !== "login") throw error;
      // It may have been withdrawn before its time.
      tokens.forget(accessToken);
      return await logIn(address, { accessToken: await tokens.get(signal) }, signal);
    }
  };
}

async function logIn(address: ImapServerAddress, credential: Credential, signal: AbortSignal): Promise<ImapFlow> {
  try {
    return await connect(address, credential, signal);
  } catch (error) {
    throw toMailError(error, address);
  }
}

/** A folder that its connection has selected, for reading alone. */
export interface OpenFolder extends FolderState {
  client: ImapFlow;
  /** As it is configured. */
  name: string;
  /** `\Junk`, `\Trash`, `\Drafts` … */
  use: string | undefined;
}

/**
 * Opens a folder, or looks at it again: on a connection that broke without a word this is what finds it out, and ends it. Rejects with the
 * library's error.
 */
export async function openFolder(client: ImapFlow, name: string, answerMs: number): Promise<OpenFolder> {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    client.close();
  }, answerMs);
  try {
    const mailbox = await client.mailboxOpen(name, { readOnly: true });
    if (!client.mailbox) throw connectionLost(client);
    const uidNext = mailbox.uidNext || (await findUidNext(client, mailbox));
    return { client, name, use: mailbox.specialUse, uidValidity: mailbox.uidValidity, uidNext };
  } catch (error) {
    throw isLate ? new Error(`The server did not answer for ${answerMs} ms.`, { cause: error }) : error;
  } finally {
    clearTimeout(timer);
  }
}

/** For a server that does not tell. */
async function findUidNext(client: ImapFlow, { exists }: MailboxObject): Promise<number> {
  const [last = 0] = exists > 0 ? await search(client, { uid: "*" }) : [];
  return last + 1;
}
