import { codeOf, JournalUnavailable, messageOf } from "../../core/errors.ts";

const UNIQUE_VIOLATION = "23505";
const CONFLICTS = new Set(["40P01", "40001"]);

/** Another transaction was first: thrown by the work itself. */
export class Conflict extends Error {
  override name = "Conflict";
}

/** A row that is there already, at a repetition, is that of the earlier attempt. */
export function isConflict(error: unknown, isRepeated: boolean): boolean {
  const code = stateOf(error) ?? "";
  return error instanceof Conflict || CONFLICTS.has(code) || (isRepeated && code === UNIQUE_VIOLATION);
}

/** A prepared statement that is not there, or is there already. */
const NAME_STATES = new Set(["26000", "42P05"]);

/** A pooler gave the transaction a connection that does not know its statements by name, or a migration has changed them. */
export function isNameLost(error: unknown): boolean {
  const state = stateOf(error) ?? "";
  return NAME_STATES.has(state) || (state === "0A000" && messageOf(error).includes("cached plan"));
}

/**
 * States that concern the server, not the statement: connection, resources (also a full disk), shut down, canceled,
 * read-only after a failover, idle for too long, and a file system that fails.
 */
const SERVER_STATES = /^(08|53|57|58|25006|25P03|55P03)/;

/** The error as a `JournalUnavailable` if the database or the way to it caused it, else undefined. */
export function toUnavailable(error: unknown): JournalUnavailable | undefined {
  if (error instanceof JournalUnavailable) return error;
  const state = stateOf(error);
  const isServer = state === undefined ? isConnectionError(error) : SERVER_STATES.test(state);
  if (!isServer && !isRefused(error)) return undefined;
  return new JournalUnavailable(describe(error), { cause: error });
}

/** Wrong password or no right to connect, no such database. */
const REFUSED_STATES = /^(28|3D000)/;

/** OpenSSL's and Node's codes for a certificate that they do not accept. */
const CERTIFICATE_CODES = /CERT|UNABLE_TO_VERIFY/;

/** The database refuses this client, or the other way round: waiting does not help. */
export function isRefused(error: unknown): boolean {
  const state = stateOf(error);
  return state === undefined ? isCertificateError(error) || isFileError(error) : REFUSED_STATES.test(state);
}

/** A file that the URL names. */
function isFileError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "open";
}

function isCertificateError(error: unknown): error is NodeJS.ErrnoException {
  return CERTIFICATE_CODES.test(String(codeOf(error)));
}

function describe(error: unknown): string {
  if (!isCertificateError(error)) return `the database cannot be used: ${messageOf(error)}`;
  if (error.code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `the database's certificate is of another host (${error.message})`;
  // Behind it, Node advises on its own options.
  const reason = error.message.split(";")[0];
  return `the database's certificate is not trusted (${reason}): set sslrootcert to a file with the certificate of its authority`;
}

/** Five characters, from PostgreSQL itself. */
function stateOf(error: unknown): string | undefined {
  return error instanceof Error && "severity" in error ? String(codeOf(error)) : undefined;
}

/** `pg` has no class for the errors that it throws itself. */
const CONNECTION_ERRORS = /terminated|timeout|not queryable|closed|ended|calling end/i;

function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return "syscall" in error || "errno" in error || CONNECTION_ERRORS.test(error.message) || isAggregate(error);
}

/** Node throws it when all addresses of a name fail. */
function isAggregate(error: Error): boolean {
  return error instanceof AggregateError && error.errors.every(isConnectionError);
}
