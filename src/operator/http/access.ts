import { createHmac, hkdfSync } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import { HookError } from "../../core/errors.ts";
import { createAuthRateLimit } from "../../core/ingress/authenticators.ts";
import type { Exchange } from "../../core/ingress/exchange.ts";
import { isOwnHost, toHostName, toPublicHost } from "../../core/shared/net/own-host.ts";
import { isJson } from "../../core/ingress/parse-body.ts";
import { createNonce } from "../../core/shared/id.ts";
import { bearerOf, sameSecret } from "../../core/shared/secret.ts";
import { isOfOwner } from "../../core/shared/system/owner.ts";

/** Without `gateway.auth.token`, the page and the API are off. */
type Gateway = Pick<ResolvedConfig["gateway"], "token" | "host" | "publicUrl">;

/** Decides who may use the page and the API. */
export interface Access {
  /** Throws unless the request has the gateway token or that of `owner.json`, or comes from the page with the cookie of a sign-in. */
  require(exchange: Exchange): void;
  /** Whether `require` would not throw. Counts a wrong token as it does. */
  allows(exchange: Exchange): boolean;
  /** Throws if the page may not be shown under this host, or is off; otherwise says whether the browser is signed in. */
  requirePage(exchange: Exchange): { isSignedIn: boolean };
  /** Checks the token that a person gave on the page. */
  signIn(exchange: Exchange, token: unknown): { cookie: string; expiresAt: number };
  /** The `Set-Cookie` header that ends a sign-in. */
  signOut(exchange: Exchange): string;
}

const SAFE_METHODS = ["GET", "HEAD"];

export function createAccess(gateway: () => Gateway): Access {
  // Not shared with the hooks: their token must not reset the count of failures here.
  const rateLimit = createAuthRateLimit();
  const cookies = createSignIn();

  return {
    require: requireAccess,
    allows(exchange) {
      try {
        requireAccess(exchange);
        return true;
      } catch {
        return false;
      }
    },
    requirePage(exchange) {
      const expected = requireToken();
      requireOwnHost(exchange);
      return { isSignedIn: hasCookie(exchange, expected) };
    },
    signIn(exchange, given) {
      const expected = requireToken();
      requireOwnHost(exchange);
      requireOwnPage(exchange, { isTokenShown: true });
      checkToken(exchange, typeof given === "string" ? given.trim() : undefined, expected);
      return cookies.create(expected, isHttps(exchange));
    },
    signOut: (exchange) => cookies.end(isHttps(exchange)),
  };

  function requireAccess(exchange: Exchange): void {
    const expected = requireToken();
    const bearer = bearerOf(exchange.headers.authorization);
    if (!bearer && hasCookie(exchange, expected)) {
      requireOwnHost(exchange);
      if (!SAFE_METHODS.includes(exchange.method)) requireOwnPage(exchange);
    } else if (!bearer || !isOfOwner(bearer, exchange.client)) checkToken(exchange, bearer, expected);
  }

  function requireToken(): string {
    const expected = gateway().token;
    if (expected === undefined) throw new HookError("not_found");
    return expected;
  }

  function checkToken({ client }: Exchange, given: string | Uint8Array | undefined, expected: string): void {
    if (given && sameSecret(given, expected)) return rateLimit.succeed(client);
    rateLimit.fail(client);
    throw new HookError("unauthorized", { message: "The gateway token is missing or wrong." });
  }

  function hasCookie(exchange: Exchange, expected: string): boolean {
    return cookies.verify(expected, exchange.headers, isHttps(exchange));
  }

  function requireOwnHost({ headers }: Exchange): void {
    if (isOwnHost(headers.host, gateway())) return;
    throw new HookError("forbidden", {
      message: "The page is not served under this host name. Set gateway.publicUrl to the address that browsers use.",
    });
  }

  function isHttps({ headers }: Exchange): boolean {
    return (
      gateway().publicUrl?.startsWith("https:") === true &&
      toHostName(headers.host) === toPublicHost(gateway().publicUrl)
    );
  }
}

/**
 * CSRF: a browser adds the cookie to what another page sends, too. JSON needs the consent of CORS, which the service never
 * gives, and the browser itself says where a request comes from. Over plain http from another machine it only names the
 * origin. With `isTokenShown` a program may send the request: it knows the token.
 */
function requireOwnPage({ headers }: Exchange, { isTokenShown = false } = {}): void {
  if (!isJson(headers["content-type"] ?? "")) {
    throw new HookError("unsupported_media_type", { message: "Send the request as application/json." });
  }
  const site = headers["sec-fetch-site"];
  const { origin } = headers;
  const isNamed = origin !== undefined && URL.parse(origin)?.host === headers.host;
  if (site === "same-origin" || (site === undefined && isNamed)) return;
  if (isTokenShown && site === undefined && origin === undefined) return;
  throw new HookError("forbidden", {
    message: "Without the gateway token, only the page itself may sign in or change something.",
  });
}

const HOURS_12 = 12 * 60 * 60;

/**
 * A cookie instead of the gateway token, for the page. Nothing is stored: it survives restarts, is valid on every node, and
 * ends when the token is replaced.
 */
function createSignIn() {
  /** The key of the latest token: deriving it for every request would be slow. */
  let latest: { token: string; key: Buffer } | undefined;

  return {
    /** The `Set-Cookie` header of a new sign-in, and its end in milliseconds since the epoch. */
    create(token: string, isHttps: boolean): { cookie: string; expiresAt: number } {
      const expiry = Math.floor(Date.now() / 1000) + HOURS_12;
      const claim = `v1.${expiry}.${createNonce()}`;
      return { cookie: toCookie(`${claim}.${sign(claim, token)}`, HOURS_12, isHttps), expiresAt: expiry * 1000 };
    },
    /** The `Set-Cookie` header that removes it from the browser. */
    end: (isHttps: boolean) => toCookie("", 0, isHttps),
    /** Whether the request has a valid cookie. */
    verify(token: string, { cookie }: IncomingHttpHeaders, isHttps: boolean): boolean {
      const value = readCookie(cookie, nameOf(isHttps));
      const [, claim, expiry, signature] = /^(v1\.(\d+)\.[\da-f]{32})\.([\w-]+)$/.exec(value ?? "") ?? [];
      if (claim === undefined || signature === undefined) return false;
      return sameSecret(signature, sign(claim, token)) && Number(expiry) * 1000 > Date.now();
    },
  };

  function sign(claim: string, token: string): string {
    if (latest?.token !== token) latest = { token, key: toKey(token) };
    return createHmac("sha256", latest.key).update(claim).digest("base64url");
  }
}

/** A signature must not help to guess the token, and no other part of the service may use the same key. */
function toKey(token: string): Buffer {
  return Buffer.from(hkdfSync("sha256", token, "", "hookline sign-in v1", 32));
}

/** With `__Host-`, a browser takes the cookie only over https and from this host, not from a subdomain's page. */
function nameOf(isHttps: boolean): string {
  return isHttps ? "__Host-hl" : "hl";
}

function toCookie(value: string, maxAge: number, isHttps: boolean): string {
  const attributes = `Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${isHttps ? "; Secure" : ""}`;
  return `${nameOf(isHttps)}=${value}; ${attributes}`;
}

function readCookie(header: string | undefined, name: string): string | undefined {
  const pairs = (header ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}
