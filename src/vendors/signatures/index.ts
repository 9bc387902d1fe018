import type { SignatureDefinition } from "../../core/ports/plugin.ts";
import { field, graph, mailgun } from "./without-row.ts";
import { grafana, header, hmac } from "./generic.ts";
import { defineSignature } from "./verifier.ts";
import { rows } from "./rows.ts";
import { sns } from "./sns.ts";
import { googleChat, googleOidc, jwt, msteams, netlify } from "./tokens.ts";

/** The built-in signature schemes, by name. */
export const providers: Record<string, SignatureDefinition> = {
  ...Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, defineSignature(row)])),
  grafana,
  "google-chat": googleChat,
  "google-oidc": googleOidc,
  graph,
  mailgun,
  msteams,
  netlify,
  sns,
  hmac,
  header,
  field,
  jwt,
};
