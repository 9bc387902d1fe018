import type { SignatureDefinition, SignatureSummary } from "../plugin.ts";
import {
  type Algorithm,
  type RowOptions,
  SECRET,
  SECRET_ITSELF,
  type SignatureRow,
  TOLERANCE,
  URL_OPTION,
} from "./row.ts";
import { checkSecrets, createVerifier } from "./verifier.ts";

/** A scheme from a row. */
export function defineSignature(row: SignatureRow): SignatureDefinition<RowOptions> {
  const { docs, deliveryId, options = {} } = row;
  const signsUrl = row.signsUrl ?? row.signed?.includes("url") ?? false;
  const hasTime = row.timestamp !== undefined;
  const properties = {
    secret: SECRET,
    ...(hasTime && { tolerance: { ...TOLERANCE, default: row.tolerance ?? "5m" } }),
    ...(signsUrl && { url: URL_OPTION }),
    ...options,
  };
  return {
    schema: { type: "object", additionalProperties: false, required: ["secret", ...Object.keys(options)], properties },
    docs,
    deliveryId,
    signsUrl,
    about: summarize(row),
    check: (given) => checkSecrets(row, given),
    create: (given) => createVerifier(row, given),
  };
}

function summarize(row: SignatureRow): SignatureSummary {
  const { header, algorithm = "hmac-sha256", encoding = "hex", signed = ["body"], list, timestamp } = row;
  const prefix = row.prefix ?? (list && `${list.signature}${list.assign ?? "="}`);
  const names = [header].flat().map((name) => `\`${name}\``);
  const parts = signed.map((part) => (typeof part === "function" ? part.name : PARTS.has(part) ? part : `\`${part}\``));
  return {
    header: `${names.join(" or ")}${prefix === undefined ? "" : `: \`${prefix.trim()}\``}`,
    signed: algorithm === "secret" ? SECRET_ITSELF : `${toTitle(algorithm)}, ${encoding}: ${parts.join(" ")}`,
    tolerance: timestamp && (row.tolerance ?? "5m"),
    handshake: row.handshake?.about,
  };
}

const PARTS = new Set(["body", "id", "timestamp", "url", "method"]);

function toTitle(algorithm: Algorithm): string {
  return algorithm === "ed25519" ? "Ed25519" : algorithm.toUpperCase();
}
