import {
  type FetchMessageObject,
  type FetchQueryObject,
  ImapFlow,
  type ImapFlowError,
  type SearchObject,
} from "imapflow";
import { MailError, messageOf } from "../../core/errors.ts";
import { describeUnreachable, isLoopback } from "../../core/shared/net/network.ts";
import { withTimeout } from "../../core/shared/time.ts";
import { cleanLine } from "../message/text.ts";
import { type AccessTokens, createAccessTokens } from "../oauth.ts";
import type { ImapOptions } from "../options.ts";
import type { RefreshTokens } from "../../core/ports/mail-source.ts";

/** How a server is reached, with the defaults filled in. */
export type ImapServer = Required<Pick<ImapOptions, "host" | "port" | "tls" | "user">>;

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

export function createLogin(
  server: ImapServer,
  { password, oauth }: ImapOptions,
  tokens: AccessTokens | undefined = oauth && createAccessTokens({ ...oauth, tokenUrl: oauth.tokenUrl ?? "" }),
): Login {
  if (!tokens) return (signal) => connect(server, { pass: password }, signal);
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

export interface OpenFolder {
  client: ImapFlow;
  /** The name in the configuration. */
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
  for await (const message of client.fetch(uids, query, { uid: true })) yield withoutNil(message);
  if (!client.mailbox) throw connectionLost(client);
}

/** The library gives false for what a server answers with NIL, and the beginning of 1970 for a date. */
function withoutNil({ source, headers, bodyParts, internalDate, ...message }: FetchMessageObject): FetchMessageObject {
  const isDated = !(internalDate instanceof Date) || internalDate.getTime() > 0;
  return {
    ...message,
    source: source || undefined,
    headers: headers || undefined,
    bodyParts: bodyParts && new Map([...bodyParts].filter(([, bytes]) => bytes)),
    internalDate: isDated ? internalDate : "",
  };
}

/** Login failures that end by themselves (RFC 5530, and the wording of large providers). */
const TEMPORARY_CODES = new Set(["UNAVAILABLE", "INUSE", "LIMIT", "SERVERBUG", "OVERQUOTA", "THROTTLED"]);
const TEMPORARY_WORDS = /too many|try again|temporar|rate limit|throttl/i;
const MISSING_FOLDER_CODES = new Set(["NONEXISTENT", "NOPERM", "CANNOT"]);

/** OpenSSL's codes for a first byte that is not TLS. */
const NO_TLS_CODES = new Set(["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"]);
/** Codes for a certificate that does not verify, and for those that a private CA explains. */
const CERTIFICATE_CODE = /^(?!ERR_SSL_).*(?:CERT|LEAF_SIGNATURE)/;
const UNKNOWN_CA_CODE = /SELF_SIGNED|UNABLE_TO|UNTRUSTED/;
const MAX_TEXT_LENGTH = 200;

interface Failure extends ImapFlowError {
  /** The certificate that belongs to another host. */
  cert?: { subjectaltname?: string };
}

/** Converts an error of the library. `folder`: the one that was being read. */
export function toMailError(
  thrown: unknown,
  { host, port, user }: { host: string; port: number; user: string },
  folder?: string,
): MailError {
  if (thrown instanceof MailError) return thrown;
  const error: Failure = thrown instanceof Error ? thrown : new Error(messageOf(thrown));
  const place = `${host}:${port}`;
  if (isLoginRefused(error)) return new MailError("login", `${place} refuses the login of ${user}: ${toText(error)}`);
  if (folder !== undefined && isFolderMissing(error)) {
    return new MailError("gone", `${place} has no folder ${folder} for ${user}: ${toText(error)}`);
  }
  const tlsFailure = describeTlsFailure(error, place, host);
  if (tlsFailure !== undefined) return new MailError("tls", tlsFailure, { cause: error });
  const reason = describeUnreachable(error.code, host, port) ?? `${place}: ${toText(error)}`;
  return new MailError("network", reason, { cause: error });
}

/** The library sets `authenticationFailed` also if the connection was lost during the login. */
function isLoginRefused({ authenticationFailed, responseStatus, serverResponseCode = "", ...error }: Failure): boolean {
  const isTemporary = TEMPORARY_CODES.has(serverResponseCode) || TEMPORARY_WORDS.test(error.responseText ?? "");
  return authenticationFailed === true && responseStatus !== undefined && !isTemporary;
}

function isFolderMissing({ mailboxMissing, serverResponseCode = "" }: Failure): boolean {
  return mailboxMissing === true || MISSING_FOLDER_CODES.has(serverResponseCode);
}

/** The server's own words often say what to do. */
function toText({ responseText, reason, message }: Failure): string {
  return cleanLine(responseText || reason || message, MAX_TEXT_LENGTH);
}

function describeTlsFailure(
  { code = "", tlsFailed, message, cert }: Failure,
  place: string,
  host: string,
): string | undefined {
  if (NO_TLS_CODES.has(code)) return `${place} does not use implicit TLS: set tls: "starttls", or another port`;
  if (tlsFailed && message.includes("not support STARTTLS")) {
    return `${place} offers no STARTTLS: set tls: "implicit" and its port, usually 993`;
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const names = cert?.subjectaltname?.replaceAll(/\b(?:DNS|IP Address):/g, "") || "another name";
    return `${place} has a certificate for ${cleanLine(names, MAX_TEXT_LENGTH)}, not for ${host}: set host to the certificate's name`;
  }
  if (!CERTIFICATE_CODE.test(code)) return undefined;
  // After the semicolon, Node's message gives a hint that does not apply to a service.
  const [reason = ""] = cleanLine(message, MAX_TEXT_LENGTH).split(";");
  const hint = UNKNOWN_CA_CODE.test(code) ? "; if you trust it, set NODE_EXTRA_CA_CERTS to the file of its CA" : "";
  return `the certificate of ${place} is not accepted: ${reason}${hint}`;
}

function connectionLost({ byeReason }: ImapFlow): Error {
  return new Error(byeReason ?? "The connection was lost.");
}

/** Whether the server refused a command on a connection that still works. */
export function isRefusal(error: unknown): boolean {
  return error instanceof Error && "responseStatus" in error && error.responseStatus !== undefined;
}
