import { type FetchMessageObject, type FetchQueryObject, ImapFlow, type SearchObject } from "imapflow";
import { MailError } from "../../errors.ts";
import { withTimeout } from "../../shared/time.ts";
import { isLoopback } from "../../shared/network.ts";
import { createAccessTokens } from "../oauth.ts";
import { connectionLost, toMailError } from "./errors.ts";
import type { ImapOptions } from "../options.ts";
import type { RefreshTokens } from "../source.ts";

/** How a server is reached, with the defaults filled in. */
type ImapServer = Required<Pick<ImapOptions, "host" | "port" | "tls" | "user">>;

const PORTS = { implicit: 993, starttls: 143, none: 143 };

export function resolveServer({ host, port, tls, user }: ImapOptions): ImapServer {
  // The configuration is checked too, but setup connects before that.
  if (tls === "none" && !isLoopback(host)) throw new MailError("tls", `${host} is not this machine: TLS is required`);
  return { host, port: port ?? PORTS[tls], tls, user };
}

/** `imap://ann@mail.example.com`, with the port unless it is the default. */
export function toMailboxUrl({ host, port, tls, user }: ImapServer): string {
  const name = host.includes(":") ? `[${host}]` : host;
  const suffix = port === PORTS[tls] ? "" : `:${port}`;
  return `imap://${encodeURIComponent(user)}@${name}${suffix}`;
}

const CONNECT_MS = 30_000;
/** A connection on which a command gets no byte for this long is lost. */
const SILENCE_MS = 300_000;
const LOGOUT_MS = 1000;
/** Limits what a server can make this process hold. The largest piece that is requested is half a megabyte. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Opens a connection that is logged in and ends with the signal. Rejects with a `MailError`. */
export type Login = (signal: AbortSignal, refreshTokens?: RefreshTokens) => Promise<ImapFlow>;

export function createLogin(server: ImapServer, { password, oauth }: ImapOptions): Login {
  if (!oauth) return (signal) => connect(server, { pass: password }, signal);
  const tokens = createAccessTokens({ ...oauth, tokenUrl: oauth.tokenUrl ?? "" });
  return async function logInWithToken(signal, refreshTokens) {
    const accessToken = await tokens.get(signal, refreshTokens);
    try {
      return await connect(server, { accessToken }, signal);
    } catch (error) {
      if (!(error instanceof MailError && error.kind === "login")) throw error;
      // The token may have been revoked before its end: try once more with a new one.
      tokens.forget(accessToken);
      return connect(server, { accessToken: await tokens.get(signal, refreshTokens) }, signal);
    }
  };
}

async function connect(
  server: ImapServer,
  credential: { pass: string | undefined } | { accessToken: string },
  signal: AbortSignal,
): Promise<ImapFlow> {
  signal.throwIfAborted();
  const { host, port, tls, user } = server;
  const client = new ImapFlow({
    host,
    port,
    secure: tls === "implicit",
    // true: the connection fails without STARTTLS. false: STARTTLS is not tried.
    doSTARTTLS: tls === "implicit" ? undefined : tls === "starttls",
    auth: { user, ...credential },
    clientInfo: { name: "hookline", version: false, vendor: false, "support-url": false },
    // Its log contains mail content.
    logger: false,
    connectionTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    maxLineLength: MAX_BYTES,
    maxLiteralSize: MAX_BYTES,
    maxResponseSize: 2 * MAX_BYTES,
  });
  // Without a listener an error would end the process. The command in flight rejects as well.
  client.on("error", () => undefined);
  const abort = (): void => void disconnect(client);
  signal.addEventListener("abort", abort, { once: true });
  // The signal outlives many connections.
  client.once("close", () => signal.removeEventListener("abort", abort));
  try {
    await client.connect();
    return client;
  } catch (error) {
    client.close();
    throw toMailError(error, server);
  }
}

/** Logs out, or closes the connection if that takes too long. Never rejects. */
export async function disconnect(client: ImapFlow): Promise<void> {
  const timer = setTimeout(() => client.close(), LOGOUT_MS);
  await client.logout().catch(() => undefined);
  clearTimeout(timer);
  client.close();
}

/** A folder that is selected for reading. */
export interface OpenFolder {
  client: ImapFlow;
  /** As in the configuration. */
  name: string;
  /** `\Junk`, `\Trash`, `\Drafts` … */
  use: string | undefined;
  /** A change means that all uids have changed. */
  uidValidity: bigint;
  /** The next mail gets at least this uid. */
  uidNext: number;
}

/**
 * Opens a folder, also the one that is open already, to see whether the folder and the connection are still there. Rejects with the
 * library's error.
 */
export async function openFolder(client: ImapFlow, name: string, timeoutMs: number): Promise<OpenFolder> {
  const timeoutError = (): Error => new Error(`The server did not answer for ${timeoutMs} ms.`);
  const mailbox = await withTimeout(() => client.mailboxOpen(name, { readOnly: true }), { timeoutMs, timeoutError });
  if (!client.mailbox) throw connectionLost(client);
  // UIDNEXT is optional.
  const [last = 0] = mailbox.uidNext || mailbox.exists === 0 ? [] : await search(client, { uid: "*" });
  const { specialUse: use, uidValidity, uidNext } = mailbox;
  return { client, name, use, uidValidity, uidNext: uidNext || last + 1 };
}

/** Returns ascending uids. Rejects if the connection is lost or the server refuses. */
export async function search(client: ImapFlow, query: SearchObject): Promise<number[]> {
  const uids = await client.search(query, { uid: true });
  if (Array.isArray(uids)) return uids;
  const isLost = !client.mailbox || client.byeReason !== undefined;
  throw isLost ? connectionLost(client) : new Error("The server refuses to search.");
}

/**
 * Yields what the server sends for these mails, and unrequested changes of others. Rejects if the connection is lost: the library
 * yields nothing then, as if the mails had been deleted.
 */
export async function* fetchMessages(
  client: ImapFlow,
  uids: number[],
  query: FetchQueryObject,
): AsyncGenerator<FetchMessageObject> {
  yield* client.fetch(uids, query, { uid: true });
  if (!client.mailbox) throw connectionLost(client);
}
