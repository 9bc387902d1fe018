import type { ImapFlow, ImapFlowError } from "imapflow";
import { MailError, messageOf } from "../../errors.ts";
import { cleanLine } from "../message/text.ts";
import type { ImapServerAddress } from "./address.ts";

/** Refusals that pass by themselves (RFC 5530 and what large providers say). */
const PASSING_CODES = new Set(["UNAVAILABLE", "INUSE", "LIMIT", "SERVERBUG", "OVERQUOTA", "THROTTLED"]);
const PASSING_WORDS = /too many|try again|temporar|rate limit|throttl/i;
/** What a server says of a folder that an operator must see to. */
const GONE_CODES = new Set(["NONEXISTENT", "NOPERM", "CANNOT"]);
const MAX_TEXT_LENGTH = 200;

/** Whatever the library rejected with as a `MailError`. `folder`: what was being read, if it had come to that. */
export function toMailError(thrown: unknown, address: ImapServerAddress, folder?: string): MailError {
  if (thrown instanceof MailError) return thrown;
  const error: ImapFlowError = thrown instanceof Error ? thrown : new Error(messageOf(thrown));
  const { host, port, user } = address;
  const place = `${host}:${port}`;
  if (isLoginRefused(error)) return new MailError("login", `${place} refuses the login of ${user}: ${toText(error)}`);
  if (folder !== undefined && isGone(error))
    return new MailError("gone", `${place} has no folder ${folder} for ${user}: ${toText(error)}`);
  const tlsFailure = describeTlsFailure(error, address);
  if (tlsFailure !== undefined) return new MailError("tls", tlsFailure, { cause: error });
  const reason = describeUnreachable(error.code, host, port) ?? `${place}: ${toText(error)}`;
  return new MailError("network", reason, { cause: error });
}

/** The library says so too of a login that the connection was lost over. */
function isLoginRefused(error: ImapFlowError): boolean {
  return error.authenticationFailed === true && error.responseStatus !== undefined && !isPassing(error);
}

function isGone(error: ImapFlowError): boolean {
  return error.mailboxMissing === true || GONE_CODES.has(error.serverResponseCode ?? "");
}

function isPassing({ serverResponseCode = "", responseText = "" }: ImapFlowError): boolean {
  return PASSING_CODES.has(serverResponseCode) || PASSING_WORDS.test(responseText);
}

/** The server's own words where it has any: they often tell what to do. */
function toText(error: ImapFlowError): string {
  return cleanLine(error.responseText || error.reason || error.message, MAX_TEXT_LENGTH);
}

/** What the library and Node know of a connection that did not become a safe one. */
interface TlsFailure extends ImapFlowError {
  /** The certificate that is for another name. */
  cert?: { subjectaltname?: string };
}

/** OpenSSL's words for a first byte that is none of TLS. */
const NO_TLS_CODES = new Set(["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"]);
/** Node's and OpenSSL's codes for a certificate that does not verify, and those among them that a CA of one's own explains. */
const CERTIFICATE_CODE = /^(?!ERR_SSL_).*(?:CERT|LEAF_SIGNATURE)/;
const UNKNOWN_CA_CODE = /SELF_SIGNED|UNABLE_TO|UNTRUSTED/;
const MAX_TLS_TEXT = 200;

/** Why there is no safe connection to a server, and what to do about it; undefined: it failed over something else. */
function describeTlsFailure(error: TlsFailure, { host, port }: ImapServerAddress): string | undefined {
  const { code = "", tlsFailed, message } = error;
  const place = `${host}:${port}`;
  if (NO_TLS_CODES.has(code)) return `${place} speaks no TLS from the first byte: set tls: "starttls", or another port`;
  if (tlsFailed && message.includes("not support STARTTLS"))
    return `${place} offers no STARTTLS: set tls: "implicit" and the port for it, usually 993`;
  return CERTIFICATE_CODE.test(code) ? describeCertificate(error, place, host) : undefined;
}

function describeCertificate({ code = "", message, cert }: TlsFailure, place: string, host: string): string {
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `${place} shows a certificate for ${toNames(cert)}, not for ${host}: name the server as its certificate does`;
  // Behind it Node gives a hint for whoever starts it by hand.
  const [reason = ""] = cleanLine(message, MAX_TLS_TEXT).split(";");
  const hint = UNKNOWN_CA_CODE.test(code)
    ? ": name the file of its CA in the environment variable NODE_EXTRA_CA_CERTS if you trust it"
    : "";
  return `the certificate of ${place} is not accepted (${reason})${hint}`;
}

/** `DNS:mail.example.com, DNS:example.com` without the kinds. */
function toNames(cert: TlsFailure["cert"]): string {
  const names = cert?.subjectaltname?.replaceAll(/\b(?:DNS|IP Address):/g, "");
  return cleanLine(names || "another name", MAX_TLS_TEXT);
}

/** The error of a connection that is no more, in the server's last words if it had any. */
export function connectionLost({ byeReason }: ImapFlow): Error {
  return new Error(byeReason ?? "The connection was lost.");
}

/** Whether a server said no to a command, and the connection goes on. */
export function isRefusal(error: unknown): boolean {
  return error instanceof Error && "responseStatus" in error && error.responseStatus !== undefined;
}

/** Why nothing answers at `host:port`, in words for the system's code; undefined: the error must speak for itself. */
export function describeUnreachable(code: unknown, host: string, port: number | string): string | undefined {
  switch (code) {
    case "ENOTFOUND":
      return `there is no host ${host}`;
    case "EAI_AGAIN":
      return `the host ${host} cannot be looked up: no name server answers`;
    case "ECONNREFUSED":
      return `nothing listens at ${host}:${port}`;
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return `there is no way to ${host}: is this machine online?`;
    default:
      return undefined;
  }
}
