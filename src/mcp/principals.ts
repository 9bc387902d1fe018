import type { McpPrincipal, McpSettings } from "../core/config/resolved-config.ts";
import { HookError } from "../core/errors.ts";
import { createAuthRateLimit } from "../core/ingress/authenticators.ts";
import type { Exchange } from "../core/ingress/exchange.ts";
import { bearerOf, sameSecret } from "../core/shared/secret.ts";
import { RecentFailure } from "../core/shared/net/recent-failure.ts";
import { createReadSubject, type ReadSubject } from "./oauth.ts";

export interface PrincipalSettings extends McpSettings {
  /** `<publicUrl>/mcp`: what tokens are issued for. */
  resource: string | undefined;
}

/** Decides who asks. Throws a 401, 403 or 429. */
export type Authenticate = (exchange: Exchange, settings: PrincipalSettings) => Promise<McpPrincipal>;

export function createAuthenticate(): Authenticate {
  // Not shared with hooks and operators: their credentials must not reset the count of failures here.
  const rateLimit = createAuthRateLimit();
  let issuer: { key: string; readSubject: ReadSubject } | undefined;

  return async function authenticate({ headers, client }, settings) {
    // Never in a query: it would be in the logs of proxies.
    const given = bearerOf(headers.authorization);
    const known = given && findBySecret(given, settings.principals);
    if (known) {
      rateLimit.succeed(client);
      return known;
    }
    const subject =
      given &&
      (await readSubject(given.toString("utf8"), settings).catch((error: unknown) => {
        if (error instanceof HookError && error.cause instanceof RecentFailure) rateLimit.fail(client);
        throw error;
      }));
    if (subject === undefined) {
      rateLimit.fail(client);
      const message = "The token of the MCP endpoint is missing or wrong.";
      throw new HookError("unauthorized", { message, headers: toChallenge(settings) });
    }
    const principal = settings.principals.find(({ sub }) => sub === subject);
    if (principal) return principal;
    const message = "This account may not use the MCP endpoint. Ask the operator to add it.";
    throw new HookError("forbidden", { message, headers: toChallenge(settings, "insufficient_scope") });
  };

  async function readSubject(token: string, { oauth, resource }: PrincipalSettings): Promise<string | undefined> {
    if (!oauth || resource === undefined) return undefined;
    const key = JSON.stringify([oauth.issuer, resource]);
    if (issuer?.key !== key) issuer = { key, readSubject: createReadSubject(oauth.issuer, resource) };
    return issuer.readSubject(token);
  }
}

/** Compares with each, so that the time says nothing. */
function findBySecret(given: Uint8Array, principals: readonly McpPrincipal[]): McpPrincipal | undefined {
  let found: McpPrincipal | undefined;
  for (const principal of principals) {
    for (const secret of principal.secrets) if (sameSecret(given, secret)) found = principal;
  }
  return found;
}

const METADATA_PATH = "/.well-known/oauth-protected-resource";

/** With OAuth, it says where a token can be had. */
function toChallenge({ oauth, resource }: PrincipalSettings, error?: string): Record<string, string> {
  if (!oauth || resource === undefined) return {};
  const metadata = `${resource.slice(0, -"/mcp".length)}${METADATA_PATH}/mcp`;
  const parts = [`resource_metadata="${metadata}"`, `scope="${oauth.scope}"`];
  if (error !== undefined) parts.unshift(`error="${error}"`);
  return { "WWW-Authenticate": `Bearer ${parts.join(", ")}` };
}

/** The document of RFC 9728; undefined without OAuth. */
export function toMetadata({ oauth, resource }: PrincipalSettings): object | undefined {
  if (!oauth || resource === undefined) return undefined;
  return {
    resource,
    authorization_servers: [oauth.issuer],
    scopes_supported: [oauth.scope],
    bearer_methods_supported: ["header"],
    resource_name: "Hookline",
  };
}
