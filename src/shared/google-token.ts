import type { SignatureRefusal, SignatureResult } from "../providers/provider.ts";
import { HTTP_URL, NON_BLANK } from "./json.ts";

/** JSON Schemas of the options that say which tokens are right. */
export const GOOGLE_TOKEN = {
  audience: { ...NON_BLANK, description: "The audience of the tokens, as in the push subscription." },
  serviceAccount: {
    ...NON_BLANK,
    description: "The e-mail address that the tokens are issued for. Everyone can have tokens issued for their own.",
  },
  keysUrl: {
    ...HTTP_URL,
    default: "https://www.googleapis.com/oauth2/v3/certs",
    description: "For tests: Google's public keys as a JSON Web Key Set.",
  },
} as const;

export interface GoogleTokenOptions {
  audience: string;
  serviceAccount: string;
  keysUrl: string;
  /** How far Google's clock may be off. */
  toleranceMs: number;
}

/** `now` in milliseconds since the epoch. Never rejects. */
export type VerifyGoogleToken = (authorization: string | undefined, now: number) => Promise<SignatureResult>;

const FETCH_TIMEOUT_MS = 5000;
/** Google's tokens have about a kilobyte. */
const MAX_TOKEN_LENGTH = 8192;
/** Google's tokens are valid for an hour. */
const MAX_AGE_SECONDS = 86_400;

/** Verifies the JSON Web Tokens that Google sends as `Authorization: Bearer`. Keeps its keys for some minutes. */
export async function createGoogleTokenVerifier(options: GoogleTokenOptions): Promise<VerifyGoogleToken> {
  // Imported late, since few configurations need it.
  const { createRemoteJWKSet, errors, jwtVerify } = await import("jose");
  const keys = createRemoteJWKSet(new URL(options.keysUrl), { timeoutDuration: FETCH_TIMEOUT_MS });
  const expected = {
    issuer: ["https://accounts.google.com", "accounts.google.com"],
    audience: options.audience,
    algorithms: ["RS256"],
    requiredClaims: ["exp", "iat"],
    maxTokenAge: MAX_AGE_SECONDS,
    clockTolerance: options.toleranceMs / 1000,
  };
  return async function verifyGoogleToken(authorization = "", now) {
    const token = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization)?.[1];
    if (authorization === "") return { reason: "missing", message: "The header authorization is missing." };
    if (token === undefined || token.length > MAX_TOKEN_LENGTH) return MALFORMED_TOKEN;
    try {
      const { payload } = await jwtVerify(token, keys, { ...expected, currentDate: new Date(now) });
      const isRight = payload["email"] === options.serviceAccount && payload["email_verified"] === true;
      return isRight ? "valid" : WRONG;
    } catch (error) {
      if (error instanceof errors.JWTExpired) return toExpired(error.payload.exp ?? 0, now);
      const isWrong = error instanceof errors.JOSEError && !FETCH_FAULTS.has(error.code);
      return isWrong ? WRONG : UNAVAILABLE;
    }
  };
}

/** The error of jose when the keys cannot be fetched. */
const FETCH_FAULTS = new Set(["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"]);

export const MALFORMED_TOKEN: SignatureRefusal = {
  reason: "malformed",
  message: "The header authorization is malformed.",
};
const WRONG: SignatureRefusal = { reason: "wrong", message: "The token is not one for this hook." };
const UNAVAILABLE: SignatureRefusal = { reason: "unavailable", message: "The keys of Google cannot be fetched now." };

function toExpired(expiresAt: number, now: number): SignatureRefusal {
  return { reason: "expired", message: "The token has expired.", skewSeconds: Math.round(expiresAt - now / 1000) };
}
