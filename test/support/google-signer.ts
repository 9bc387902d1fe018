import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { startJsonServer } from "./json-server.ts";

export interface GoogleSigner {
  /** For `push.keysUrl`. */
  keysUrl: string;
  /** A token like Google's for Pub/Sub, with these changes. */
  sign(claims?: Record<string, unknown>, header?: Record<string, unknown>): string;
  /** Signed with an unpublished key. */
  forge(claims?: Record<string, unknown>): string;
  close(): Promise<void>;
}

const KEY_ID = "key-1";

/** Replaces https://www.googleapis.com/oauth2/v3/certs: a JSON Web Key Set. */
export async function startGoogleSigner(audience: string, email: string): Promise<GoogleSigner> {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const keys = [{ ...publicKey.export({ format: "jwk" }), kid: KEY_ID, alg: "RS256", use: "sig" }];
  const server = await startJsonServer(() => ({ status: 200, body: { keys } }));
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: "https://accounts.google.com",
    aud: audience,
    email,
    email_verified: true,
    sub: "113774264463038321964",
    iat: now - 10,
    exp: now + 3600,
  };
  return {
    keysUrl: `${server.url}oauth2/v3/certs`,
    sign: (more, header) =>
      toToken({ ...claims, ...more }, { alg: "RS256", kid: KEY_ID, typ: "JWT", ...header }, privateKey),
    forge(more) {
      const other = generateKeyPairSync("rsa", { modulusLength: 2048 });
      return toToken({ ...claims, ...more }, { alg: "RS256", kid: KEY_ID, typ: "JWT" }, other.privateKey);
    },
    close: () => server.close(),
  };
}

function toToken(claims: object, header: object, key: KeyObject): string {
  const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${signed}.${sign("RSA-SHA256", Buffer.from(signed), key).toString("base64url")}`;
}
