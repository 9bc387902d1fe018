import type { SignatureResult } from "../../providers/provider.ts";
import { HTTP_URL, NON_BLANK } from "../json.ts";
import { createTokenVerifier, bearerTokenOf, type TokenRules } from "./json-web-token.ts";

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

/** Which tokens are Google's for this account. */
export function toGoogleRules(options: Omit<GoogleTokenOptions, "toleranceMs">): Omit<TokenRules, "toleranceMs"> {
  const { audience, serviceAccount, keysUrl } = options;
  return {
    keys: { jwks: keysUrl },
    algorithms: ["RS256"],
    issuer: ["https://accounts.google.com", "accounts.google.com"],
    audience,
    claims: { email: serviceAccount, email_verified: true },
  };
}

/** Verifies the JSON Web Tokens that Google sends as `Authorization: Bearer`. */
export async function createGoogleTokenVerifier(options: GoogleTokenOptions): Promise<VerifyGoogleToken> {
  const verifyToken = await createTokenVerifier({ ...toGoogleRules(options), toleranceMs: options.toleranceMs });
  return async function verifyGoogleToken(authorization, now) {
    if (authorization === undefined) return { reason: "missing", message: "The header authorization is missing." };
    const token = bearerTokenOf(authorization);
    if (token === undefined) return { reason: "malformed", message: "The header authorization is malformed." };
    const { refusal } = await verifyToken(token, now);
    return refusal ?? "valid";
  };
}
