import type { ImapFlowError } from "imapflow";
import { cleanLine } from "../content/clean.ts";
import type { ImapServerAddress } from "./address.ts";

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
const LONGEST_TEXT = 200;

/** Why there is no safe connection to a server, and what to do about it; undefined: it failed over something else. */
export function describeTlsFailure(error: TlsFailure, { host, port }: ImapServerAddress): string | undefined {
  const { code = "", tlsFailed, message } = error;
  const place = `${host}:${port}`;
  if (NO_TLS_CODES.has(code))
    return `${place} speaks no TLS from the first byte: set tls: "starttls", or another port`;
  if (tlsFailed && message.includes("not support STARTTLS"))
    return `${place} offers no STARTTLS: set tls: "implicit" and the port for it, usually 993`;
  return CERTIFICATE_CODE.test(code) ? describeCertificate(error, place, host) : undefined;
}

function describeCertificate({ code = "", message, cert }: TlsFailure, place: string, host: string): string {
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `${place} shows a certificate for ${toNames(cert)}, not for ${host}: name the server as its certificate does`;
  // Behind it Node gives a hint for whoever starts it by hand.
  const [reason = ""] = cleanLine(message, LONGEST_TEXT).split(";");
  const hint = UNKNOWN_CA_CODE.test(code)
    ? ": name the file of its CA in the environment variable NODE_EXTRA_CA_CERTS if you trust it"
    : "";
  return `the certificate of ${place} is not accepted (${reason})${hint}`;
}

/** `DNS:mail.example.com, DNS:example.com` without the kinds. */
function toNames(cert: TlsFailure["cert"]): string {
  const names = cert?.subjectaltname?.replaceAll(/\b(?:DNS|IP Address):/g, "");
  return cleanLine(names || "another name", LONGEST_TEXT);
}
