import type { ImapFlow, ImapFlowError } from "imapflow";
import { MailError, messageOf } from "../../errors.ts";
import { describeUnreachable } from "../../shared/network.ts";
import { cleanLine } from "../message/text.ts";

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

export function connectionLost({ byeReason }: ImapFlow): Error {
  return new Error(byeReason ?? "The connection was lost.");
}

/** Whether the server refused a command on a connection that still works. */
export function isRefusal(error: unknown): boolean {
  return error instanceof Error && "responseStatus" in error && error.responseStatus !== undefined;
}
