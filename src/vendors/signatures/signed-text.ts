import { createHash } from "node:crypto";
import type { Bytes, SignedRequest, UnsignedRequest } from "../../core/ports/signature.ts";
import { encodes } from "./signature.ts";

// Texts that some senders sign, made from parts of the request.

/**
 * Twilio's form: each name with its value, sorted. Where a name ends and its value begins is not signed. Of any other body
 * the SHA-256 is in the address.
 */
export function form({ url = "", body, headers }: SignedRequest): string | undefined {
  const digest = URL.parse(url)?.searchParams.get(DIGEST);
  if (typeof digest === "string") return encodes(digest, "hex", digestOf(body)) ? "" : undefined;
  if (body.length === 0) return "";
  if (!isForm(headers["content-type"])) return undefined;
  const fields = new URLSearchParams(body.toString());
  const values = (name: string): string[] => [...new Set(fields.getAll(name))].toSorted();
  const names = [...new Set(fields.keys())].toSorted();
  return names.flatMap((name) => values(name).map((value) => name + value)).join("");
}

/** The address of a request of Twilio that is not a form. */
export function withDigest({ url, body, contentType }: UnsignedRequest): string {
  if (isForm(contentType)) return url;
  const address = new URL(url);
  address.searchParams.set(DIGEST, digestOf(body).toString("hex"));
  return address.href;
}

const DIGEST = "bodySHA256";

function digestOf(body: Bytes): Buffer {
  return createHash("sha256").update(body).digest();
}

function isForm(contentType = ""): boolean {
  return /^application\/x-www-form-urlencoded(?:;|$)/i.test(contentType);
}

/** Twilio does not always sign the port that the address has, and sometimes signs the usual one that it has not. */
export function withAndWithoutPort(written: string): string[] {
  const [, scheme = "", host = "", port, rest = ""] =
    /^(https?):\/\/([^/?#]*?)(?::(\d+))?([/?#].*)?$/i.exec(written) ?? [];
  if (host === "") return [written];
  const usual = scheme.toLowerCase() === "https" ? "443" : "80";
  return [written, `${scheme}://${host}${port === undefined ? `:${usual}` : ""}${rest}`];
}

/** HubSpot decodes these characters of the address before it signs. */
export function decodedUrl({ url }: SignedRequest): string | undefined {
  return url?.replace(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi, (escape) => decodeURIComponent(escape));
}
