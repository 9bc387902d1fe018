import { SECRET_ITSELF } from "../../providers/row.ts";
import type { Drivers } from "../plugins.ts";
import type { MappingSource, ResolvedConfig } from "../types.ts";
import { error, type Finding, warning } from "./finding.ts";

/** A shorter one could be guessed. Some senders choose secrets of 20 characters. */
const MIN_LENGTH = 16;

/** An `auth` has a path, secrets that are not used elsewhere, and the address if the sender signs it. */
export function checkAuth(config: ResolvedConfig, { providers }: Drivers): Finding[] {
  return config.hooks.mappings.flatMap((source) => {
    const { auth, match } = source.mapping;
    if (!auth) return [];
    const key = `${source.key}.auth`;
    const findings = [
      ...(match?.path === undefined ? [error(key, "needs match.path: it applies to the requests to one path")] : []),
      ...(auth["secret"] === undefined ? [] : checkSecrets(`${key}.secret`, auth["secret"], config)),
      ...checkRepeats(source, providers[auth.scheme]),
      ...(providers[auth.scheme]?.signsUrl ? checkUrl(`${key}.url`, source, config.gateway.publicUrl) : []),
    ];
    return findings.map((finding) => ({ ...finding, file: source.file }));
  });
}

/** A signature without a time is as good tomorrow: only the delivery's id shows that a request is a repeat. */
function checkRepeats(
  { key, mapping: { dedupe } }: MappingSource,
  scheme: Drivers["providers"][string] | undefined,
): Finding[] {
  if (dedupe !== undefined || scheme?.deliveryId === undefined || scheme.about?.tolerance !== undefined) return [];
  // Somebody who has recorded such a request has the secret, and can send anything.
  if (scheme.about?.signed === SECRET_ITSELF) return [];
  const message = `signs no time, so a recorded request could be sent again: set dedupe to "${scheme.deliveryId}"`;
  return [warning(`${key}.auth`, message)];
}

function checkSecrets(key: string, secret: unknown, config: ResolvedConfig): Finding[] {
  return [secret].flat().flatMap((text, index) => {
    const at = Array.isArray(secret) ? `${key}[${index}]` : key;
    return checkSecret(at, String(text).trim(), config);
  });
}

function checkSecret(key: string, secret: string, { gateway, hooks }: ResolvedConfig): Finding[] {
  if (secret === gateway.token) {
    return [error(key, "must not be the same as gateway.auth.token: senders of hooks would be operators")];
  }
  if (hooks.tokens.some(({ secrets }) => secrets.includes(secret))) {
    return [
      warning(
        key,
        "is the same as a hook token: with the token, anyone can sign as this sender. Use different secrets",
      ),
    ];
  }
  return secret.length < MIN_LENGTH
    ? [warning(key, `is shorter than ${MIN_LENGTH} characters and could be guessed`)]
    : [];
}

function checkUrl(key: string, { mapping: { auth } }: MappingSource, publicUrl: string | undefined): Finding[] {
  const url = auth?.["url"] ?? publicUrl;
  if (url === undefined) {
    return [error(key, `is required, or gateway.publicUrl: ${auth?.scheme} signs the address that it posts to`)];
  }
  return typeof url === "string" && /^https?:/.test(url) && URL.canParse(url)
    ? []
    : [error(key, "must be an http or https address")];
}
