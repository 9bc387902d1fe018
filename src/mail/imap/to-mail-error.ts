import type { ImapFlowError } from "imapflow";
import { MailError, messageOf } from "../../errors.ts";
import { cleanLine } from "../content/clean.ts";
import { describeUnreachable } from "../describe-unreachable.ts";
import type { ImapServerAddress } from "./address.ts";
import { describeTlsFailure } from "./describe-tls-failure.ts";

/** Refusals that pass by themselves (RFC 5530 and what large providers say). */
const PASSING_CODES = new Set(["UNAVAILABLE", "INUSE", "LIMIT", "SERVERBUG", "OVERQUOTA", "THROTTLED"]);
const PASSING_WORDS = /too many|try again|temporar|rate limit|throttl/i;
/** What a server says of a folder that an operator must see to. */
const GONE_CODES = new Set(["NONEXISTENT", "NOPERM", "CANNOT"]);
const LONGEST_TEXT = 200;

/** Whatever the library rejected with as a `MailError`. `folder`: what was being read, if it had come to that. */
export function toMailError(thrown: unknown, address: ImapServerAddress, folder?: string): MailError {
  if (thrown instanceof MailError) return thrown;
  const error: ImapFlowError = thrown instanceof Error ? thrown : new Error(messageOf(thrown));
  const { host, port, user } = address;
  const place = `${host}:${port}`;
  if (isLoginRefused(error))
    return new MailError("login", `${place} refuses the login of ${user}: ${toText(error)}`);
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
  return cleanLine(error.responseText || error.reason || error.message, LONGEST_TEXT);
}
