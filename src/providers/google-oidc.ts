import type { JWTVerifyGetKey } from "jose";
import type { FromSchema } from "json-schema-to-ts";
import type { SignatureDefinition } from "../plugin.ts";
import { parseDuration } from "../shared/duration.ts";
import { HTTP_URL, NON_BLANK } from "../shared/schema.ts";
import { valuesOf } from "./header.ts";
import type { SignatureRefusal, SignatureVerifier } from "./provider.ts";
import { TOLERANCE } from "./row.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  required: ["audience", "serviceAccount"],
  properties: {
    audience: { ...NON_BLANK, description: "The audience of the tokens, as in the push subscription." },
    serviceAccount: {
      ...NON_BLANK,
      description: "The e-mail address that the tokens are issued for. Everyone can have tokens issued for their own.",
    },
    tolerance: { ...TOLERANCE, default: "1m" },
    keysUrl: {
      ...HTTP_URL,
      default: "https://www.googleapis.com/oauth2/v3/certs",
      description: "For tests: Google's public keys as a JSON Web Key Set.",
    },
  },
} as const;

type GoogleOptions = FromSchema<typeof schema>;

/** A JSON Web Token of Google, as Pub/Sub, Cloud Tasks and Cloud Scheduler send it. */
export const googleOidc: SignatureDefinition<GoogleOptions> = {
  schema,
  docs: "https://docs.cloud.google.com/pubsub/docs/authenticate-push-subscriptions",
  deliveryId: "{{payload.message.messageId}}",
  about: { header: "`authorization`: `Bearer`", signed: "a token with audience and account", tolerance: "1m" },
  create: createGoogleVerifier,
};

const FETCH_TIMEOUT_MS = 5000;
/** Google's tokens have about a kilobyte. */
const MAX_TOKEN_LENGTH = 8192;

async function createGoogleVerifier(options: GoogleOptions): Promise<SignatureVerifier> {
  const { createRemoteJWKSet, errors, jwtVerify } = await import("jose");
  const keys: JWTVerifyGetKey = createRemoteJWKSet(new URL(options.keysUrl), { timeoutDuration: FETCH_TIMEOUT_MS });
  const expected = {
    issuer: ["https://accounts.google.com", "accounts.google.com"],
    audience: options.audience,
    algorithms: ["RS256"],
    requiredClaims: ["exp", "iat"],
    clockTolerance: parseDuration(options.tolerance) / 1000,
  };
  return {
    presents: ({ headers }) => /^bearer /i.test(headers.authorization ?? ""),
    async verify({ rawHeaders, receivedAt }) {
      const [authorization = "", ...more] = valuesOf(rawHeaders, "authorization");
      const token = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization)?.[1];
      if (authorization === "") return { reason: "missing", message: "The header authorization is missing." };
      if (token === undefined || more.length > 0 || token.length > MAX_TOKEN_LENGTH) return MALFORMED;
      try {
        const { payload } = await jwtVerify(token, keys, { ...expected, currentDate: new Date(receivedAt) });
        const isRight = payload["email"] === options.serviceAccount && payload["email_verified"] === true;
        return isRight ? "valid" : WRONG;
      } catch (error) {
        if (error instanceof errors.JWTExpired) return toExpired(error.payload.exp ?? 0, receivedAt);
        const isWrong = error instanceof errors.JOSEError && !FETCH_FAULTS.has(error.code);
        return isWrong ? WRONG : UNAVAILABLE;
      }
    },
  };
}

/** What jose throws when the keys cannot be fetched. */
const FETCH_FAULTS = new Set(["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"]);

const MALFORMED: SignatureRefusal = { reason: "malformed", message: "The header authorization is malformed." };
const WRONG: SignatureRefusal = { reason: "wrong", message: "The token is not one for this hook." };
const UNAVAILABLE: SignatureRefusal = { reason: "unavailable", message: "The keys of Google cannot be fetched now." };

function toExpired(expiresAt: number, receivedAt: number): SignatureRefusal {
  const skewSeconds = Math.round(expiresAt - receivedAt / 1000);
  return { reason: "expired", message: "The token has expired.", skewSeconds };
}
