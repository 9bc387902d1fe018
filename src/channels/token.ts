import { untilAborted } from "../shared/time.ts";
import { isSuccess, request, toNoAnswer, toRefusal, type TokenSource } from "./http.ts";

interface Token {
  token: string;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/** A token that expires sooner is not used. */
const MARGIN_MS = 300_000;
const FETCH_TIMEOUT_MS = 15_000;

/** Keeps each token until shortly before it expires. `service` names in errors where it comes from. */
export function createTokenSource(service: string, fetchToken: (signal: AbortSignal) => Promise<Token>): TokenSource {
  let kept: Token | undefined;
  let fetching: Promise<Token> | undefined;
  return {
    async get(signal) {
      if (kept && kept.expiresAt - MARGIN_MS > Date.now()) return kept.token;
      // It has its own timeout: the caller that started it may give up while others wait.
      fetching ??= fetchToken(AbortSignal.timeout(FETCH_TIMEOUT_MS)).finally(() => (fetching = undefined));
      try {
        kept = await untilAborted(fetching, signal);
      } catch (error) {
        throw signal.aborted ? toNoAnswer(service, error, signal) : error;
      }
      return kept.token;
    },
    forget(token) {
      if (kept?.token === token) kept = undefined;
    },
  };
}

interface OAuthClient {
  service: string;
  url: string;
  id: string;
  secret: string;
  scope: string;
  /** The next step for the operator after a refusal. */
  advice: string;
}

/** The access tokens of an OAuth client with its own credentials (RFC 6749, 4.4). */
export function createClientTokens({ service, url, id, secret, scope, advice }: OAuthClient): TokenSource {
  return createTokenSource(service, async (signal) => {
    const form = { grant_type: "client_credentials", client_id: id, client_secret: secret, scope };
    const answer = await request({ service, url, body: new URLSearchParams(form), signal });
    const { access_token: token, expires_in: seconds, error } = answer.body;
    if (!isSuccess(answer) || typeof token !== "string" || token === "") {
      throw toRefusal(service, answer, { reason: error, advice });
    }
    return { token, expiresAt: Date.now() + Number(seconds ?? 0) * 1000 };
  });
}
