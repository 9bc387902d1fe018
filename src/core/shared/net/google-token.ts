import { HTTP_URL, NON_BLANK } from "../json.ts";
import type { TokenRules } from "./json-web-token.ts";

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

/** Which JSON Web Tokens are Google's for this account. */
export function toGoogleRules({
  audience,
  serviceAccount,
  keysUrl,
}: Record<keyof typeof GOOGLE_TOKEN, string>): Omit<TokenRules, "toleranceMs"> {
  return {
    keys: { jwks: keysUrl },
    algorithms: ["RS256"],
    issuer: ["https://accounts.google.com", "accounts.google.com"],
    audience,
    claims: { email: serviceAccount, email_verified: true },
  };
}
