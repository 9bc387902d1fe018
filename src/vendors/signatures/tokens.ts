import { createHash } from "node:crypto";
import type { FromSchema } from "json-schema-to-ts";
import type { OptionProblem, SignatureDefinition } from "../../core/ports/driver.ts";
import { GOOGLE_TOKEN, toGoogleRules } from "../../core/shared/net/google-token.ts";
import {
  createTokenVerifier,
  signToken,
  bearerTokenOf,
  type TokenRules,
  type VerifyToken,
} from "../../core/shared/net/json-web-token.ts";
import { HTTP_URL, NON_BLANK, objectSchema } from "../../core/shared/json.ts";
import { redactPayload, toSecrets } from "../../core/shared/secret.ts";
import { parseDuration } from "../../core/shared/time.ts";
import { checkHandshake, HANDSHAKE_OPTION, withFixedHandshake } from "./handshake.ts";
import type {
  Bytes,
  SignatureRefusal,
  SignatureVerifier,
  SignedHead,
  SignedRequest,
} from "../../core/ports/signature.ts";
import { HEADER, SECRET, TOLERANCE } from "./row.ts";
import { encodes, valuesOf } from "./signature.ts";
import { digestParts } from "./verifier.ts";

// Schemes in which the request shows a JSON Web Token.

const ALGORITHMS = {
  HS: ["HS256", "HS384", "HS512"],
  RS: ["RS256", "RS384", "RS512"],
  PS: ["PS256", "PS384", "PS512"],
  ES: ["ES256", "ES384", "ES512"],
  EdDSA: ["EdDSA", "Ed25519"],
} as const;

const jwtSchema = {
  oneOf: [{ required: ["jwks"] }, { required: ["secret"] }],
  ...objectSchema(["algorithms"], {
    header: {
      ...HEADER,
      default: "Authorization",
      description: "The header with the token. In Authorization it may follow `Bearer`.",
    },
    jwks: { ...HTTP_URL, description: "The address of the sender's public keys, a JSON Web Key Set." },
    secret: SECRET,
    algorithms: {
      type: "array",
      minItems: 1,
      uniqueItems: true,
      items: { enum: Object.values(ALGORITHMS).flat() },
      description: "Algorithms that count, all of one family: HS… with a secret, any other with jwks.",
    },
    issuer: { ...NON_BLANK, description: "The claim `iss`; required with jwks." },
    audience: { ...NON_BLANK, description: "The claim `aud`; required with jwks." },
    claims: {
      type: "object",
      additionalProperties: { type: ["string", "number", "boolean"] },
      description: "Further claims with the values that they must have.",
    },
    bodyHash: {
      description: "Without it the token does not say which body it was made for.",
      ...objectSchema(["claim"], {
        claim: { ...NON_BLANK, description: "The claim with the SHA-256 of the body." },
        encoding: { enum: ["hex", "base64", "base64url"], default: "hex", description: "Encoding of the hash." },
      }),
    },
    tolerance: { ...TOLERANCE, default: "1m" },
    handshake: HANDSHAKE_OPTION,
  }),
} as const;

type JwtOptions = FromSchema<typeof jwtSchema>;

/** A JSON Web Token in a header. */
export const jwt: SignatureDefinition<JwtOptions> = {
  schema: jwtSchema,
  replay: ({ bodyHash }) => (bodyHash ? "timed" : "plain"),
  about: {
    header: "`header`",
    signed: "a token with `issuer`, `audience`, `claims`, and `bodyHash`",
    tolerance: "1m",
    replay: "*plain*, *timed* with `bodyHash`",
    handshake: "`handshake`",
  },
  check: (options) => [...checkAlgorithms(options), ...checkReceiver(options), ...checkHandshake(options.handshake)],
  async create({ jwks, secret, handshake, ...rules }) {
    const keys = jwks === undefined ? { secrets: toSecrets(secret) } : { jwks };
    return withFixedHandshake(await openToken({ ...rules, keys }), handshake);
  },
};

/** A public key must never be taken for a shared secret, so one family of algorithms goes with one kind of key. */
function checkAlgorithms({ algorithms, secret }: JwtOptions): OptionProblem[] {
  const families = Object.values(ALGORITHMS).map((family) => family as readonly string[]);
  const isOneFamily = families.some((family) => algorithms.every((algorithm) => family.includes(algorithm)));
  if (!isOneFamily)
    return [{ key: "algorithms", message: "The algorithms must be of one family: all HS, RS, PS, ES or EdDSA." }];
  const isShared = algorithms.every((algorithm) => algorithm.startsWith("HS"));
  if (isShared === (secret !== undefined)) return [];
  const message = isShared
    ? "A secret is required with HS algorithms, instead of jwks."
    : "A secret is for HS algorithms only. Set jwks instead.";
  return [{ key: "secret", message }];
}

/** A sender that publishes its keys signs for others too. A shared secret is for us alone. */
function checkReceiver({ jwks, issuer, audience }: JwtOptions): OptionProblem[] {
  if (jwks === undefined) return [];
  const missing = Object.entries({ issuer, audience }).filter(([, value]) => value === undefined);
  return missing.map(([key]) => ({
    key,
    message: "This setting is required with jwks: the sender signs tokens for other services with the same keys.",
  }));
}

const netlifySchema = objectSchema(["secret"], { secret: SECRET });

/** The token has a hash of the body and no time. */
export const netlify: SignatureDefinition<FromSchema<typeof netlifySchema>> = {
  schema: netlifySchema,
  docs: "https://docs.netlify.com/deploy/deploy-notifications/#payload-signature",
  deliveryId: "{{payload.id}}:{{payload.state}}",
  replay: () => "unique",
  about: { header: "`x-webhook-signature`", signed: "a token with the SHA-256 of the body" },
  create: ({ secret }) =>
    openToken({
      header: "x-webhook-signature",
      keys: { secrets: toSecrets(secret) },
      algorithms: ["HS256"],
      issuer: "netlify",
      bodyHash: { claim: "sha256", encoding: "hex" },
      requiresExpiry: false,
      tolerance: "1m",
    }),
};

interface TokenScheme extends Omit<TokenRules, "toleranceMs"> {
  header: string;
  tolerance: string;
  bodyHash?: JwtOptions["bodyHash"];
  /** Whether the token is one for this body. */
  accepts?(payload: Record<string, unknown>, request: SignedRequest): boolean;
}

const WRONG: SignatureRefusal = { reason: "wrong", message: "The token was not made for this body." };

/** Makes a verifier of tokens by their rules. */
export async function openToken(scheme: TokenScheme): Promise<SignatureVerifier> {
  const { bodyHash, accepts = () => true } = scheme;
  const name = scheme.header.toLowerCase();
  const toleranceMs = parseDuration(scheme.tolerance);
  const verifyToken = await createTokenVerifier({ ...scheme, toleranceMs });
  return {
    presents: ({ headers }) => headers[name] !== undefined,
    async verify(request) {
      const { refusal } = await read(request);
      return refusal ?? "valid";
    },
    identify: bodyHash && identify,
    sign: "secrets" in scheme.keys ? signer(scheme, scheme.keys.secrets[0]) : undefined,
  };

  async function read(request: SignedRequest): ReturnType<VerifyToken> {
    const token = readToken(request, name);
    if (typeof token !== "string") return { refusal: token };
    const result = await verifyToken(token, request.receivedAt);
    if (result.refusal) return result;
    const isForBody =
      bodyHash === undefined || encodes(result.payload[bodyHash.claim], bodyHash.encoding ?? "hex", hash(request.body));
    return isForBody && accepts(result.payload, request) ? result : { refusal: WRONG };
  }

  /** By the claims, since the same could be signed anew. */
  async function identify(request: SignedRequest) {
    const result = await read(request);
    if (result.refusal) return undefined;
    const { payload } = result;
    const validMs = payload.exp === undefined ? undefined : payload.exp * 1000 + toleranceMs - request.receivedAt;
    return { digest: digestParts([Buffer.from(JSON.stringify(payload))]), validMs };
  }
}

const TOKEN_LIFE_SECONDS = 300;

function signer(scheme: TokenScheme, secret = ""): SignatureVerifier["sign"] {
  const { header, algorithms, issuer, audience, claims, bodyHash } = scheme;
  return async ({ body, now }) => {
    const seconds = Math.floor(now / 1000);
    const payload = {
      ...claims,
      ...(bodyHash && { [bodyHash.claim]: hash(body).toString(bodyHash.encoding ?? "hex") }),
      iss: [issuer ?? []].flat()[0],
      aud: audience,
      iat: seconds,
      exp: seconds + TOKEN_LIFE_SECONDS,
    };
    const token = await signToken(payload, { secret, algorithm: algorithms[0] ?? "HS256" });
    const name = header.toLowerCase();
    return { headers: { [name]: name === "authorization" ? `Bearer ${token}` : token } };
  };
}

function readToken({ rawHeaders }: SignedHead, name: string): string | SignatureRefusal {
  const [value, ...more] = valuesOf(rawHeaders, name);
  if (value === undefined) return { reason: "missing", message: `The header ${name} is missing.` };
  if (more.length === 0) return (name === "authorization" && bearerTokenOf(value)) || value;
  return { reason: "malformed", message: `The header ${name} is malformed.` };
}

function hash(body: Bytes): Buffer {
  return createHash("sha256").update(body).digest();
}

const { audience, serviceAccount, keysUrl } = GOOGLE_TOKEN;

const googleSchema = objectSchema(["audience", "serviceAccount"], {
  audience,
  serviceAccount,
  tolerance: { ...TOLERANCE, default: "1m" },
  keysUrl,
});

/** A JSON Web Token of Google, as Pub/Sub, Cloud Tasks and Cloud Scheduler send it. */
export const googleOidc: SignatureDefinition<FromSchema<typeof googleSchema>> = {
  schema: googleSchema,
  docs: "https://docs.cloud.google.com/pubsub/docs/authenticate-push-subscriptions",
  deliveryId: "{{payload.message.messageId}}",
  // The token is good for any body, and Google uses it for an hour.
  replay: () => "plain",
  about: { header: "`authorization`: `Bearer`", signed: "a token with audience and account", tolerance: "1m" },
  create: ({ tolerance, ...options }) => openToken({ ...toGoogleRules(options), header: "authorization", tolerance }),
};

const googleChatSchema = objectSchema(["audience"], {
  audience: { ...audience, description: "The hook's address, as in the app's settings." },
  serviceAccount: {
    ...serviceAccount,
    default: "chat@system.gserviceaccount.com",
    description: "The e-mail address that the tokens are issued for. A Workspace add-on has another one.",
  },
  tolerance: { ...TOLERANCE, default: "1m" },
  keysUrl,
});

/** An app of Google Chat, also one that is a Workspace add-on. */
export const googleChat: SignatureDefinition<FromSchema<typeof googleChatSchema>> = {
  schema: googleChatSchema,
  docs: "https://developers.google.com/workspace/chat/verify-requests-from-chat",
  deliveryId: "{{default payload.message.name payload.chat.messagePayload.message.name}}",
  // The token is good for any body.
  replay: () => "plain",
  about: { header: "`authorization`: `Bearer`", signed: "a token with audience and account", tolerance: "1m" },
  create: async ({ tolerance, ...options }) => ({
    ...(await openToken({ ...toGoogleRules(options), header: "authorization", tolerance })),
    accept: 200,
    senderTimeoutMs: 30_000,
    // An add-on shows the token of the request, and those of its user, in the body too.
    hideSecrets: (payload) =>
      redactPayload(payload, [
        ["token"],
        ["configCompleteRedirectUrl"],
        ["chat", "*", "configCompleteRedirectUri"],
        ["authorizationEventObject", "*"],
      ]),
  }),
};
