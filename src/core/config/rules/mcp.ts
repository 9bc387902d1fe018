import { listFound } from "../../shared/found.ts";
import { isLoopback } from "../../shared/net/network.ts";
import { listNeeding } from "../settings.ts";
import type { MappingSource, McpPrincipal, ResolvedConfig } from "../resolved-config.ts";
import { error, type Finding, findUnused, warning } from "./finding.ts";

/** Principals have their own secrets, and OAuth and a shared store what they need. */
export function checkMcp({ gateway, hooks, store }: ResolvedConfig): Finding[] {
  const { mcp, publicUrl } = gateway;
  if (!mcp) return [];
  const key = "gateway.mcp";
  const tokens = [gateway.token, ...hooks.tokens.flatMap(({ secrets }) => secrets)];
  const isShort = mcp.keys.some((written) => written.length < MIN_KEY_LENGTH);
  const message =
    "A key is required with store.url, because all nodes must read the same secrets. Set a long random one.";
  return listFound(
    mcp.principals.length === 0 &&
      error(`${key}.principals`, "Nobody may use the endpoint. Add a principal with a secret, or oauth."),
    mcp.principals.flatMap((principal, index) => checkPrincipal(principal, mcp.principals.slice(0, index), tokens)),
    mcp.oauth && checkOAuth(mcp.oauth.issuer, publicUrl),
    store.postgres && mcp.keys.length === 0 && error(`${key}.key`, message),
    isShort && error(`${key}.key`, `A key must have at least ${MIN_KEY_LENGTH} characters. Set a long random one.`),
  );
}

const MIN_KEY_LENGTH = 32;
const MIN_SECRET_LENGTH = 24;

function checkPrincipal(
  { name, secrets, sub }: McpPrincipal,
  earlier: readonly McpPrincipal[],
  tokens: readonly (string | undefined)[],
): Finding[] {
  const key = `gateway.mcp.${sub === undefined ? "" : "oauth."}principals.${name}`;
  const isTaken = earlier.some((other) => other.name === name);
  const isSubject = sub !== undefined && earlier.some((other) => other.sub === sub);
  return listFound(
    isTaken && error(key, `"${name}" is already the name of another principal. Give each a different name.`),
    isSubject && error(`${key}.sub`, "Another principal has this subject. Remove one."),
    secrets.flatMap((secret) => checkSecret(`${key}.secret`, secret, earlier, tokens)),
  );
}

function checkSecret(
  key: string,
  secret: string,
  earlier: readonly McpPrincipal[],
  tokens: readonly (string | undefined)[],
): Finding[] {
  if (secret === "") return [error(key, "The secret is blank. Set a long random secret.")];
  if (tokens.includes(secret)) {
    return [error(key, "This secret is also a hook token or the gateway token. Use a different one.")];
  }
  if (earlier.some((other) => other.secrets.includes(secret))) {
    return [error(key, "Another principal has this secret. Give each a different one.")];
  }
  const message = `This secret is shorter than ${MIN_SECRET_LENGTH} characters and could be guessed. Use a longer one.`;
  return listFound(secret.length < MIN_SECRET_LENGTH && warning(key, message));
}

function checkOAuth(issuer: string, publicUrl: string | undefined): Finding[] {
  const url = URL.parse(issuer);
  const isSafe = url?.protocol === "https:" || (url && isLoopback(url.hostname));
  const message = "This is required for gateway.mcp.oauth: the audience of the tokens is <publicUrl>/mcp.";
  return listFound(
    publicUrl === undefined && error("gateway.publicUrl", message),
    !isSafe && error("gateway.mcp.oauth.issuer", "The issuer must be a URL that begins with https://."),
  );
}

/** Checks that a publication has a name and a reader, and that `none` does nothing else. */
export function checkPublish({ mapping, key, preset }: MappingSource, { gateway }: ResolvedConfig): Finding[] {
  const { publish = false, action, transform, match } = mapping;
  const isNone = action === "none";
  return listFound(
    isNone &&
      !publish &&
      error(`${key}.action`, 'The action "none" requires publish: without it, nothing happens. Set publish.'),
    isNone &&
      transform &&
      error(`${key}.transform`, 'A transform makes actions, and the action is "none". Remove one of them.'),
    isNone &&
      preset === undefined &&
      findUnused(key, mapping, listNeeding("action"), ' on the action "none". Remove it.'),
    publish &&
      match?.path === undefined &&
      error(`${key}.publish`, "A mapping with publish needs match.path, because the event types begin with it."),
    publish &&
      !gateway.mcp &&
      warning(`${key}.publish`, "Nothing is published without gateway.mcp. Set it, or remove publish."),
  );
}
