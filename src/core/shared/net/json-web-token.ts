import type { createRemoteJWKSet, JWK, JWTPayload, JWTVerifyOptions, JWTVerifyResult } from "jose";
import type { SignatureRefusal } from "../../ports/signature.ts";
import { isObject } from "../json.ts";
import { limitFetch } from "./limited-fetch.ts";
import { RecentFailure, rememberFailure } from "./recent-failure.ts";

export interface TokenRules {
  /** The address of a JSON Web Key Set, or shared secrets. */
  keys: { jwks: string } | { secrets: readonly string[] };
  algorithms: readonly string[];
  /** Absent: any, as `audience`. */
  issuer?: string | readonly string[];
  audience?: string;
  /** Claims with the values that they must have. */
  claims?: Record<string, string | number | boolean>;
  /** Default: true. */
  requiresExpiry?: boolean;
  /** How far the sender's clock may be off. */
  toleranceMs: number;
  /** Whether this key of the set may sign tokens for us. */
  acceptsKey?(key: JWK | undefined): boolean;
}

/** `now` in milliseconds since the epoch. Never rejects. */
export type VerifyToken = (token: string, now: number) => Promise<VerifiedToken | { refusal: SignatureRefusal }>;

interface VerifiedToken {
  payload: JWTPayload;
  refusal?: undefined;
}

type RemoteKeySet = ReturnType<typeof createRemoteJWKSet>;

const FETCH_TIMEOUT_MS = 5000;
/** Most tokens have about a kilobyte. */
const MAX_TOKEN_LENGTH = 8192;
/** The tokens of webhooks are valid for an hour or less. */
const MAX_AGE_SECONDS = 86_400;

/** Verifies JSON Web Tokens. Keeps the keys of a key set for some minutes. */
export async function createTokenVerifier(rules: TokenRules): Promise<VerifyToken> {
  // Imported late, since few configurations need it.
  const { createRemoteJWKSet, customFetch, errors, jwtVerify } = await import("jose");
  const { claims = {}, requiresExpiry = true, acceptsKey = () => true } = rules;
  const remote = "jwks" in rules.keys ? openKeySet(rules.keys.jwks) : undefined;
  const keys = "secrets" in rules.keys ? rules.keys.secrets.map((secret) => Buffer.from(secret)) : [];
  const expected: JWTVerifyOptions = {
    issuer: rules.issuer && [rules.issuer].flat(),
    audience: rules.audience,
    algorithms: [...rules.algorithms],
    requiredClaims: requiresExpiry ? ["exp"] : [],
    clockTolerance: rules.toleranceMs / 1000,
  };

  return async function verifyToken(token, now) {
    if (token.length > MAX_TOKEN_LENGTH || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return { refusal: MALFORMED };
    try {
      const options = { ...expected, currentDate: new Date(now) };
      if (!remote) return check((await verifyWithSecrets(token, options)).payload, undefined, now);
      const { payload, protectedHeader } = await jwtVerify(token, remote, options);
      const key = remote.jwks()?.keys.find(({ kid }) => kid === protectedHeader.kid);
      return check(payload, key, now);
    } catch (error) {
      if (error instanceof errors.JWTExpired) return { refusal: toExpired(error.payload.exp ?? 0, now) };
      if (error instanceof RecentFailure) return { refusal: { ...UNAVAILABLE, isRecent: true } };
      const isFetch = remote !== undefined && (!(error instanceof errors.JOSEError) || FETCH_FAULTS.has(error.code));
      return { refusal: isFetch ? UNAVAILABLE : WRONG };
    }
  };

  function openKeySet(url: string): RemoteKeySet {
    const fetchKeys = rememberFailure(() => readKeys(url));
    return createRemoteJWKSet(new URL(url), { [customFetch]: async () => Response.json(await fetchKeys()) });
  }

  /** All secrets of a rotation verify. */
  async function verifyWithSecrets(token: string, options: JWTVerifyOptions): Promise<JWTVerifyResult> {
    for (const key of keys.slice(0, -1)) {
      try {
        return await jwtVerify(token, key, options);
      } catch (error) {
        if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
      }
    }
    return jwtVerify(token, keys.at(-1) ?? Buffer.alloc(0), options);
  }

  function check(payload: JWTPayload, key: JWK | undefined, now: number): Awaited<ReturnType<VerifyToken>> {
    // A token that is valid for years is a password that cannot be changed.
    const isIssued = payload.iat === undefined || payload.iat <= now / 1000 + rules.toleranceMs / 1000;
    const isShort = payload.exp === undefined || payload.exp <= now / 1000 + MAX_AGE_SECONDS;
    const isRight = Object.entries(claims).every(([name, value]) => payload[name] === value);
    return isIssued && isShort && isRight && acceptsKey(key) ? { payload } : { refusal: WRONG };
  }
}

const fetchLimited = limitFetch({ maxBytes: 1024 * 1024, timeoutMs: FETCH_TIMEOUT_MS });

/** An issuer has answered that there is no such document. */
export class NoDocument extends Error {
  override name = "NoDocument";
}

/** A JSON document of an issuer. Rejects with a `NoDocument`, or because it cannot be read. */
export async function fetchDocument(url: string): Promise<Record<string, unknown>> {
  const response = await fetchLimited(url, { redirect: "error", headers: { accept: "application/json" } });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new NoDocument(`${new URL(url).host} answered ${response.status}`);
  }
  const document: unknown = await response.json();
  if (!isObject(document)) throw new Error(`${new URL(url).host} sent no JSON object`);
  return document;
}

async function readKeys(url: string): Promise<Record<string, unknown>> {
  const document = await fetchDocument(url);
  if (!Array.isArray(document["keys"])) throw new Error(`${new URL(url).host} sent no key set`);
  return document;
}

/** The error of jose when the keys cannot be fetched. */
const FETCH_FAULTS = new Set(["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"]);

const MALFORMED: SignatureRefusal = { reason: "malformed", message: "The token is malformed." };
const WRONG: SignatureRefusal = { reason: "wrong", message: "The token is not one for this hook." };
const UNAVAILABLE: SignatureRefusal = {
  reason: "unavailable",
  message: "The keys of the sender cannot be fetched now.",
};

function toExpired(expiresAt: number, now: number): SignatureRefusal {
  return { reason: "expired", message: "The token has expired.", skewSeconds: Math.round(expiresAt - now / 1000) };
}

/** The token of `Authorization: Bearer`. */
export function bearerTokenOf(authorization: string): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization)?.[1];
}

export async function signToken(
  payload: JWTPayload,
  { secret, algorithm }: { secret: string; algorithm: string },
): Promise<string> {
  const { SignJWT } = await import("jose");
  return new SignJWT(payload).setProtectedHeader({ alg: algorithm }).sign(Buffer.from(secret));
}
