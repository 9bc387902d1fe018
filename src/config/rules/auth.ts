import { SECRET_ITSELF } from "../../providers/row.ts";
import { BUILT_IN_HOOKS } from "../../types.ts";
import type { Drivers } from "../plugins.ts";
import { trimSlashes } from "../resolve.ts";
import { didYouMean } from "../schema/problems.ts";
import { DEFAULT_TOKEN, type HookToken, type MappingSource, type ResolvedConfig } from "../types.ts";
import { error, type Finding, warning } from "./finding.ts";

/** A shorter one could be guessed. Some senders choose secrets of 20 characters. */
const MIN_SECRET_LENGTH = 16;

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
    return findings.map((finding) => (finding.key === PUBLIC_URL ? finding : { ...finding, file: source.file }));
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
  return secret.length < MIN_SECRET_LENGTH
    ? [warning(key, `is shorter than ${MIN_SECRET_LENGTH} characters and could be guessed`)]
    : [];
}

const PUBLIC_URL = "gateway.publicUrl";

function checkUrl(key: string, { mapping: { auth }, preset }: MappingSource, publicUrl: string | undefined): Finding[] {
  const url = auth?.["url"] ?? publicUrl;
  if (url === undefined && preset !== undefined) {
    const message = `is required by the preset ${preset}: its sender signs the address that it posts to`;
    return [error(PUBLIC_URL, message)];
  }
  if (url === undefined) {
    return [error(key, `is required, or gateway.publicUrl: ${auth?.scheme} signs the address that it posts to`)];
  }
  return typeof url === "string" && /^https?:/.test(url) && URL.canParse(url)
    ? []
    : [error(key, "must be an http or https address")];
}

/** A shorter one could be guessed. */
const MIN_TOKEN_LENGTH = 24;

/** Hook tokens exist while hooks are on, are long, differ from each other and the gateway's, and name known hooks. */
export function checkTokens({ gateway, hooks }: ResolvedConfig): Finding[] {
  const secrets = hooks.tokens.flatMap(listSecrets);
  const isMissing = hooks.tokens[0]?.secrets.every((secret) => secret === "");
  return [
    ...(isMissing && hooks.enabled
      ? [error("hooks.token", "is required while hooks.enabled is true: set a long random secret")]
      : []),
    ...secrets.flatMap((secret) => checkToken(secret, secrets, gateway.token)),
    ...hooks.tokens.slice(1).flatMap((token) => [...checkName(token), ...checkHooks(token, hooks.mappings)]),
  ];
}

function checkName({ name }: HookToken): Finding[] {
  const key = `hooks.tokens.${name}`;
  if (name === DEFAULT_TOKEN) return [error(key, "has the name of hooks.token: choose another")];
  return /^[A-Za-z0-9_-]+$/.test(name) ? [] : [error(key, "must have a name of letters, digits, - and _")];
}

interface Secret {
  key: string;
  text: string;
}

function listSecrets({ name, secrets }: HookToken): Secret[] {
  const key = name === DEFAULT_TOKEN ? "hooks.token" : `hooks.tokens.${name}.secret`;
  const texts = secrets.length > 0 ? secrets : [""];
  return texts.map((text, index) => ({ key: secrets.length > 1 ? `${key}[${index}]` : key, text }));
}

function checkToken({ key, text }: Secret, secrets: Secret[], gatewayToken: string | undefined): Finding[] {
  // Whether a blank `hooks.token` is missing depends on `hooks.enabled`.
  if (text === "") return key === "hooks.token" ? [] : [error(key, "is blank: set a long random secret")];
  if (text === gatewayToken) {
    return [error(key, "must not be the same as gateway.auth.token: senders of hooks would be operators")];
  }
  const first = secrets.find((other) => other.text === text)?.key;
  if (first !== key) return [error(key, `is the same as ${first}: give each token its own secret`)];
  return text.length < MIN_TOKEN_LENGTH
    ? [warning(key, `is shorter than ${MIN_TOKEN_LENGTH} characters and could be guessed`)]
    : [];
}

function checkHooks({ name, hooks = [] }: HookToken, mappings: MappingSource[]): Finding[] {
  const paths = mappings.flatMap(({ mapping }) => mapping.match?.path ?? []);
  // A mapping without a path takes requests to any hook.
  if (paths.length < mappings.length) return [];
  const known = [...BUILT_IN_HOOKS, ...paths.map((path) => trimSlashes(path))];
  return hooks
    .filter((hook) => !known.includes(hook))
    .map((hook) => warning(`hooks.tokens.${name}.hooks`, `there is no hook "${hook}"${didYouMean(hook, known)}`));
}
