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
  return createTokenSource(service, async (signal) => {
    const form = { grant_type: "client_credentials", client_id: id, client_secret: secret, scope };
    const answer = await request({ service, url, body: new URLSearchParams(form), signal });
    const { access_token: token, expires_in: seconds, error, error_description: description } = answer.body;
    const hasToken = typeof token === "string" && token !== "";
    if (isSuccess(answer) && !hasToken && error === undefined) throw toUnreadable(service);
    if (!isSuccess(answer) || !hasToken) {
      throw toRefusal(service, answer, { reason: explain(error, description, secret), advice });
    }
    return { value: token, endsAt: Date.now() + Number(seconds ?? 0) * 1000 };
  });
}

/** The code and the words of a refusal. Some servers quote the secret. */
function explain(error: unknown, description: unknown, secret: string): string {
  const words = [error, description].filter((part) => typeof part === "string");
  return words.join(": ").replaceAll(secret, "…");
}
