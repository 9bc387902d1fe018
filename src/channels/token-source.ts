import { untilAborted } from "../shared/async.ts";
import { toNoAnswer } from "./http.ts";

export interface TokenSource {
  /** A token that is valid for a while. Parallel callers share one request. */
  get(signal: AbortSignal): Promise<string>;
  /** Does not return this token again. */
  forget(token: string): void;
}

export interface Token {
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
