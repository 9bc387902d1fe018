import { HookError } from "../core/errors.ts";
import { createTokenVerifier, fetchDocument, NoDocument } from "../core/shared/net/json-web-token.ts";
import { isLoopback } from "../core/shared/net/network.ts";
import { RecentFailure, rememberFailure } from "../core/shared/net/recent-failure.ts";
import { once } from "../core/shared/once.ts";

/** The subject of a token that the issuer made for the resource; undefined: it is not such a token. Throws a 503. */
export type ReadSubject = (token: string) => Promise<string | undefined>;

/** With a shared secret, its holder could make any token. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
const TOLERANCE_MS = 60_000;
const MAX_SUBJECT_LENGTH = 512;
/** The form of a token: other texts are refused without asking the issuer. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export function createReadSubject(issuer: string, resource: string): ReadSubject {
  const claims = { issuer, audience: resource, toleranceMs: TOLERANCE_MS };
  const open = once(
    rememberFailure(async () =>
      createTokenVerifier({ keys: { jwks: await discoverKeys(issuer) }, algorithms: ALGORITHMS, ...claims }),
    ),
  );

  return async function readSubject(token) {
    if (!TOKEN.test(token)) return undefined;
    const verify = await open().catch((error: unknown) => {
      throw unavailable(error);
    });
    const verified = await verify(token, Date.now());
    const { refusal } = verified;
    if (refusal?.reason === "unavailable") throw unavailable(refusal.isRecent && new RecentFailure(refusal.message));
    const sub = verified.refusal ? undefined : verified.payload.sub;
    return typeof sub === "string" && sub !== "" && sub.length <= MAX_SUBJECT_LENGTH ? sub : undefined;
  };
}

function unavailable(cause?: unknown): HookError {
  return new HookError("unavailable", {
    message: "The issuer of the tokens cannot be asked now. Try again soon.",
    cause,
  });
}

/** The address of the issuer's keys, from its metadata (RFC 8414, or OpenID Connect Discovery). */
async function discoverKeys(issuer: string): Promise<string> {
  for (const address of listMetadataUrls(new URL(issuer))) {
    const metadata = await fetchDocument(address).catch((error: unknown) => {
      if (error instanceof NoDocument) return undefined;
      throw error;
    });
    if (!metadata) continue;
    // Another issuer's keys would sign for this one.
    if (metadata["issuer"] !== issuer) throw new Error("The metadata is that of another issuer.");
    const jwks = URL.parse(String(metadata["jwks_uri"]));
    if (jwks?.protocol !== "https:" && !(jwks && isLoopback(jwks.hostname)))
      throw new Error("The metadata has no keys.");
    return jwks.href;
  }
  throw new Error("The issuer has no metadata.");
}

function listMetadataUrls({ origin, pathname }: URL): string[] {
  const path = pathname.replace(/\/+$/, "");
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/openid-configuration${path}`,
  ];
}
