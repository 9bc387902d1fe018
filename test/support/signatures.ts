import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { compileTemplate } from "../../src/core/mapping/template/template.ts";
import { builtInDrivers } from "../../src/service/drivers.ts";
import type { SignatureVerifier, SignedParts, SignedRequest, UnsignedRequest } from "../../src/core/ports/signature.ts";

const { providers } = builtInDrivers;

export const NOW = Date.parse("2026-10-01T12:00:00.123Z");
export const URL_OF_HOOK = "https://hooks.example.com/hooks/in";
export const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

export interface RequestParts extends Omit<Partial<SignedRequest>, "headers" | "rawHeaders" | "body"> {
  headers?: Record<string, string> | [string, string][];
  body?: string | Buffer;
}

/** A request as the server would pass it to a verifier: Node joins repeated headers by a comma. */
export function toRequest({ headers = {}, body = "", ...rest }: RequestParts): SignedRequest {
  const pairs = Array.isArray(headers) ? headers : Object.entries(headers);
  const joined: Record<string, string> = {};
  for (const [name, value] of pairs) {
    const key = name.toLowerCase();
    joined[key] = joined[key] === undefined ? value : `${joined[key]}, ${value}`;
  }
  return {
    method: "POST",
    query: {},
    url: URL_OF_HOOK,
    receivedAt: NOW,
    ...rest,
    headers: joined,
    rawHeaders: pairs.flat(),
    body: Buffer.from(body),
  };
}

/** The verifier of a scheme, as the configuration would make it. */
export async function createVerifier(scheme: string, options: object): Promise<SignatureVerifier> {
  const definition = providers[scheme];
  if (!definition) throw new Error(`no scheme ${scheme}`);
  return definition.create(withDefaults(definition.schema["properties"], options), {
    name: scheme,
    baseDir: "/",
    stateDir: "/tmp",
    tempDir: "/tmp",
    log: undefined as never,
    compileTemplate,
  });
}

function withDefaults(properties: unknown, options: object): object {
  const entries = Object.entries(properties as Record<string, { default?: unknown }>);
  const defaults = entries.filter(([, schema]) => schema.default !== undefined);
  return { ...Object.fromEntries(defaults.map(([name, schema]) => [name, schema.default])), ...options };
}

/** One sender whose requests can be produced without its server. */
export interface Sender {
  scheme: string;
  verifier: SignatureVerifier;
  sign(request: UnsignedRequest): SignedParts | Promise<SignedParts>;
}

export const OPTIONS: Record<string, object> = {
  meta: { verifyToken: "token-of-meta" },
  basic: { secret: "user:password" },
  header: { name: "X-Secret" },
  field: { field: "token" },
  hmac: {
    header: "X-Signature",
    signed: ["id", ".", "timestamp", ".", "body"],
    idHeader: "X-Id",
    timestampHeader: "X-Time",
  },
  grafana: { timestampHeader: "X-Time" },
};

/** Schemes with tests apart: only their sender can produce a request, or it shows a JSON Web Token. */
export const APART = ["sns", "google-oidc", "google-chat", "msteams", "jwt", "netlify"];

export async function createSenders(): Promise<Sender[]> {
  const schemes = Object.keys(providers).filter((scheme) => !APART.includes(scheme));
  return Promise.all(schemes.map((scheme) => createSender(scheme)));
}

export async function createSender(scheme: string, options: object = {}): Promise<Sender> {
  if (scheme === "discord") return createDiscord();
  if (scheme === "sendgrid") return createSendGrid();
  const verifier = await createVerifier(scheme, { secret: SECRET, ...OPTIONS[scheme], ...options });
  const { sign: signRequest } = verifier;
  if (!signRequest) throw new Error(`${scheme} does not sign`);
  return { scheme, verifier, sign: (request) => signRequest(request) };
}

export async function createDiscord(): Promise<Sender & { publicKey: string }> {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const secret = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url").toString("hex");
  return {
    scheme: "discord",
    publicKey: secret,
    verifier: await createVerifier("discord", { secret }),
    sign: ({ body, now }) => ({
      headers: signTimed(body, now, { key: privateKey, hash: null, encoding: "hex", prefix: "x-signature" }),
    }),
  };
}

export async function createSendGrid(): Promise<Sender & { publicKey: string }> {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const secret = publicKey.export({ format: "der", type: "spki" }).toString("base64");
  const prefix = "x-twilio-email-event-webhook";
  return {
    scheme: "sendgrid",
    publicKey: secret,
    verifier: await createVerifier("sendgrid", { secret }),
    sign: ({ body, now }) => ({
      headers: signTimed(body, now, { key: privateKey, hash: "sha256", encoding: "base64", prefix }),
    }),
  };
}

interface TimedKey {
  key: KeyObject;
  hash: string | null;
  encoding: "hex" | "base64";
  prefix: string;
}

function signTimed(body: Uint8Array, now: number, { key, hash, encoding, prefix }: TimedKey): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000));
  const signature = sign(hash, Buffer.concat([Buffer.from(timestamp), body]), key).toString(encoding);
  const name = hash === null ? `${prefix}-ed25519` : `${prefix}-signature`;
  return { [name]: signature, [`${prefix}-timestamp`]: timestamp };
}

/** The body that a sender would send: Twilio posts forms, and some sign within JSON. */
export function sampleFor(scheme: string): { body: string; contentType: string } {
  if (scheme === "twilio")
    return { body: "From=%2B14158675309&Body=hi", contentType: "application/x-www-form-urlencoded" };
  const body =
    scheme === "graph" ? { value: [{ subscriptionId: "s", changeType: "created" }] } : { id: 1, text: "grüße\r\n" };
  return { body: JSON.stringify(body), contentType: "application/json" };
}

/** A right request of this sender. */
export async function signed(
  { scheme, sign: signRequest }: Sender,
  { body, contentType }: { body: string | Buffer; contentType: string } = sampleFor(scheme),
): Promise<{ headers: [string, string][]; body: Buffer }> {
  const bytes = Buffer.from(body);
  const parts = await signRequest({ method: "POST", url: URL_OF_HOOK, body: bytes, contentType, now: NOW });
  return {
    headers: Object.entries({ "content-type": contentType, ...parts.headers }),
    body: Buffer.from(parts.body ?? bytes),
  };
}

/** The same signature as another program could write it: hex in upper case, no padding, blanks in a list and an empty entry. */
export function respell(headers: [string, string][]): [string, string][] {
  return headers.map(([name, value]) => {
    if (name === "content-type") return [name, value];
    const separator = /^(?:t|ts)=\d+([,;])/.exec(value)?.[1];
    const spaced = separator === undefined ? value : `${value.replaceAll(separator, `${separator} `)}${separator}`;
    const unpadded = spaced.replace(/(?<=[\w+/]{20})={1,2}$/, "");
    return [name, unpadded.replaceAll(/[\da-f]{40,}/g, (digits) => digits.toUpperCase())];
  });
}
