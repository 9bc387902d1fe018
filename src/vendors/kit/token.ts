import { createSign } from "node:crypto";
import { DriverError } from "../../core/errors.ts";
import { type Expiring, keepWhileValid } from "../../core/shared/time.ts";
import { isSuccess, request, toNoAnswer, toRefusal, toUnreadable, type TokenSource } from "./http.ts";

/** A token that expires sooner is not used. */
const MARGIN_MS = 300_000;
const FETCH_TIMEOUT_MS = 15_000;

/** Keeps each token until shortly before it expires. `service` names in errors where it comes from. */
export function createTokenSource(
  service: string,
  fetchToken: (signal: AbortSignal) => Promise<Expiring>,
): TokenSource {
  const { get, forget } = keepWhileValid(() => fetchToken(AbortSignal.timeout(FETCH_TIMEOUT_MS)), MARGIN_MS);
  return {
    get: (signal) =>
      get(signal).catch((error: unknown) => {
        throw signal.aborted ? toNoAnswer(service, error, signal) : error;
      }),
    forget,
  };
}

type OAuthClient = Record<"service" | "url" | "id" | "secret" | "scope" | "advice", string>;

/** The access tokens of an OAuth client with its own credentials (RFC 6749, 4.4). */
export function createClientTokens({ service, url, id, secret, scope, advice }: OAuthClient): TokenSource {
  const form = { grant_type: "client_credentials", client_id: id, client_secret: secret, scope };
  return createTokenSource(service, (signal) => fetchAccessToken({ service, url, form, secret, advice }, signal));
}

interface TokenRequest extends Pick<OAuthClient, "service" | "url" | "secret" | "advice"> {
  form: Record<string, string>;
}

/** Asks a token endpoint (RFC 6749, 5). */
export async function fetchAccessToken(
  { service, url, form, secret, advice }: TokenRequest,
  signal: AbortSignal,
): Promise<Expiring> {
  const answer = await request({ service, url, body: new URLSearchParams(form), signal });
  const { access_token: token, expires_in: seconds, error, error_description: description } = answer.body;
  const hasToken = typeof token === "string" && token !== "";
  if (isSuccess(answer) && !hasToken && error === undefined) throw toUnreadable(service);
  if (!isSuccess(answer) || !hasToken) {
    throw toRefusal(service, answer, { reason: explain(error, description, secret), advice });
  }
  return { value: token, endsAt: Date.now() + Number(seconds ?? 0) * 1000 };
}

/** A JWT that a private key signs (RS256). `setting`: where the key is configured, with \n or line ends. */
export function signJwt(claims: object, key: string, setting: string): string {
  const parts = [{ alg: "RS256", typ: "JWT" }, claims];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  try {
    return `${signed}.${createSign("RSA-SHA256").update(signed).sign(key.replaceAll("\\n", "\n"), "base64url")}`;
  } catch {
    // The cause may quote the key.
    throw new DriverError(`${setting} is not a private key. Set the PEM file's whole text.`, { retryable: false });
  }
}

/** The code and the words of a refusal. Some servers quote the secret. */
function explain(error: unknown, description: unknown, secret: string): string {
  const words = [error, description].filter((part) => typeof part === "string");
  return words.join(": ").replaceAll(secret, "…");
}
