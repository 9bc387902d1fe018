import { isLoopback } from "../../shared/network.ts";
import type { MappingSource, McpPrincipal, ResolvedConfig } from "../types.ts";
import { error, type Finding, findUnused, warning } from "./finding.ts";

/** Principals have their own secrets, and OAuth and a shared store what they need. */
export function checkMcp({ gateway, hooks, store }: ResolvedConfig): Finding[] {
  const { mcp, publicUrl } = gateway;
  if (!mcp) return [];
  const key = "gateway.mcp";
  const tokens = [gateway.token, ...hooks.tokens.flatMap(({ secrets }) => secrets)];
  return [
    ...(mcp.principals.length === 0
      ? [error(`${key}.principals`, "Nobody may use the endpoint. Add a principal with a secret, or oauth.")]
      : []),
    ...mcp.principals.flatMap((principal, index) => checkPrincipal(principal, mcp.principals.slice(0, index), tokens)),
    ...(mcp.oauth ? checkOAuth(mcp.oauth.issuer, publicUrl) : []),
    ...(store.postgres && mcp.keys.length === 0
      ? [
          error(
            `${key}.key`,
            "A key is required with store.url, because all nodes must read the same secrets. Set a long random one.",
          ),
        ]
      : []),
    ...mcp.keys
      .filter((written) => written.length < MIN_KEY_LENGTH)
      .map(() => error(`${key}.key`, `A key must have at least ${MIN_KEY_LENGTH} characters. Set a long random one.`)),
  ];
}

const MIN_KEY_LENGTH = 32;
const MIN_SECRET_LENGTH = 24;

function checkPrincipal(
  { name, secrets, sub }: McpPrincipal,
  earlier: readonly McpPrincipal[],
  tokens: readonly (string | undefined)[],
): Finding[] {
  const key = `gateway.mcp.${sub === undefined ? "" : "oauth."}principals.${name}`;
  const findings = earlier.some((other) => other.name === name)
    ? [error(key, `"${name}" is already the name of another principal. Give each a different name.`)]
    : [];
  if (sub !== undefined) {
    const isTaken = earlier.some((other) => other.sub === sub);
    return isTaken ? [...findings, error(`${key}.sub`, "Another principal has this subject. Remove one.")] : findings;
  }
  for (const secret of secrets) {
    const at = `${key}.secret`;
    if (secret === "") findings.push(error(at, "The secret is blank. Set a long random secret."));
    else if (tokens.includes(secret)) {
      findings.push(error(at, "This secret is also a hook token or the gateway token. Use a different one."));
    } else if (earlier.some((other) => other.secrets.includes(secret))) {
      findings.push(error(at, "Another principal has this secret. Give each a different one."));
    } else if (secret.length < MIN_SECRET_LENGTH) {
      const message = `This secret is shorter than ${MIN_SECRET_LENGTH} characters and could be guessed. Use a longer one.`;
      findings.push(warning(at, message));
    }
  }
  return findings;
}

function checkOAuth(issuer: string, publicUrl: string | undefined): Finding[] {
  const findings: Finding[] = [];
  if (publicUrl === undefined) {
    const message = "This is required for gateway.mcp.oauth: the audience of the tokens is <publicUrl>/mcp.";
    findings.push(error("gateway.publicUrl", message));
  }
  const url = URL.parse(issuer);
  if (!url || (url.protocol !== "https:" && !isLoopback(url.hostname))) {
    findings.push(error("gateway.mcp.oauth.issuer", "The issuer must be a URL that begins with https://."));
  }
  return findings;
}

/** What is published has a name and somebody who may read it, and `none` does nothing else. */
export function checkPublish({ mapping, key, preset }: MappingSource, { gateway }: ResolvedConfig): Finding[] {
  const { publish = false, action, transform, match } = mapping;
  const findings: Finding[] = [];
  if (action === "none" && publish === false) {
    findings.push(
      error(`${key}.action`, 'The action "none" requires publish: without it, nothing happens. Set publish.'),
    );
  }
  if (action === "none" && transform) {
    findings.push(
      error(`${key}.transform`, 'A transform makes actions, and the action is "none". Remove one of them.'),
    );
  }
  if (action === "none" && preset === undefined) {
    findings.push(...findUnused(key, mapping, OF_ACTIONS, ' on the action "none". Remove it.'));
  }
  if (publish === false) return findings;
  if (match?.path === undefined) {
    const message = "A mapping with publish needs match.path, because the event types begin with it.";
    findings.push(error(`${key}.publish`, message));
  }
  if (!gateway.mcp) {
    findings.push(warning(`${key}.publish`, "Nothing is published without gateway.mcp. Set it, or remove publish."));
  }
  return findings;
}

const OF_ACTIONS = [
  "messageTemplate",
  "textTemplate",
  "sessionKey",
  "deliver",
  "channel",
  "to",
  "model",
  "coalesce",
] as const;
