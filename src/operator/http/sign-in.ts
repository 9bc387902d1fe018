import { createHmac, hkdfSync } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { createNonce } from "../../shared/id.ts";
import { sameSecret } from "../../shared/secret.ts";

const HOURS_12 = 12 * 60 * 60;

/**
 * A cookie instead of the gateway token, for the page. Nothing is stored: it survives restarts, is valid on every node, and
 * ends when the token is replaced.
 */
export interface SignIn {
  /** The `Set-Cookie` header of a new sign-in, and its end in milliseconds since the epoch. */
  create(token: string, isHttps: boolean): { cookie: string; expiresAt: number };
  /** The `Set-Cookie` header that removes it from the browser. */
  end(isHttps: boolean): string;
  /** Whether the request has a valid cookie. */
  verify(token: string, headers: IncomingHttpHeaders, isHttps: boolean): boolean;
}

/** `now` gives milliseconds since the epoch. */
export function createSignIn(now: () => number = Date.now): SignIn {
  /** The key of the latest token: deriving it for every request would be slow. */
  let latest: { token: string; key: Buffer } | undefined;

  return {
    create(token, isHttps) {
      const expiry = Math.floor(now() / 1000) + HOURS_12;
      const claim = `v1.${expiry}.${createNonce()}`;
      return { cookie: toCookie(`${claim}.${sign(claim, token)}`, HOURS_12, isHttps), expiresAt: expiry * 1000 };
    },
    end: (isHttps) => toCookie("", 0, isHttps),
    verify(token, { cookie }, isHttps) {
      const value = readCookie(cookie, nameOf(isHttps));
      const [, claim, expiry, signature] = /^(v1\.(\d+)\.[\da-f]{32})\.([\w-]+)$/.exec(value ?? "") ?? [];
      if (claim === undefined || signature === undefined) return false;
      return sameSecret(signature, sign(claim, token)) && Number(expiry) * 1000 > now();
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
