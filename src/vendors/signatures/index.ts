import type { SignatureDefinition } from "../../core/ports/driver.ts";
import { field, graph, mailgun } from "./without-row.ts";
import { basic, grafana, header, hmac, token } from "./generic.ts";
import { defineSignature } from "./verifier.ts";
import { rows } from "./rows.ts";
import { sns } from "./sns.ts";
import { googleChat, googleOidc, jwt, netlify } from "./tokens.ts";

/** The generic signature schemes, and those of senders that only sign, by name. */
export const signatures: Record<string, SignatureDefinition> = {
  ...Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, defineSignature(row)])),
  grafana,
  "google-chat": googleChat,
  "google-oidc": googleOidc,
  graph,
  mailgun,
  netlify,
  sns,
  basic,
  token,
  hmac,
  header,
  field,
  jwt,
};
