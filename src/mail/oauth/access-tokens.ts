import { MailError, messageOf } from "../../errors.ts";
import { untilAborted } from "../../until-aborted.ts";
import { requestToken, type TokenClient, TokenRefusal } from "./request-token.ts";

export interface AccessTokens {
  /** One that is good for a while yet; a new one where there is none. Rejects with a `MailError`, or with the signal's reason. */
  get(signal: AbortSignal): Promise<string>;
  /** This one was refused: it is not given again. */
  forget(token: string): void;
}

export interface RefreshOptions extends TokenClient {
  refreshToken: string;
}

/** How long a token is taken to be good where the server does not say. */
const USUAL_SECONDS = 300;
/** A token that ends sooner is not given any more: a login takes its time. */
const MARGIN_MS = 60_000;
const TIMEOUT_MS = 30_000;

interface State {
  token?: string;
  /** Milliseconds since the epoch. */
  endsAt: number;
  /** A server may give a new one with each access token, and then it is the one that counts. */
  refreshToken: string;
  /** The request that is under way: who comes meanwhile waits for it too. */
  pending?: Promise<string>;
}

/** Access tokens for a refresh token, each used for as long as it is good. */
export function createAccessTokens(options: RefreshOptions): AccessTokens {
  const state: State = { endsAt: 0, refreshToken: options.refreshToken };
  return {
    async get(signal) {
      signal.throwIfAborted();
      if (state.token !== undefined && Date.now() < state.endsAt - MARGIN_MS) return state.token;
      state.pending ??= refresh(options, state).finally(() => delete state.pending);
      return await untilAborted(state.pending, signal);
    },
    forget(token) {
      if (state.token === token) delete state.token;
    },
  };
}

async function refresh(options: RefreshOptions, state: State): Promise<string> {
  const askedAt = Date.now();
  try {
    const answer = await requestToken(options, state.refreshToken, AbortSignal.timeout(TIMEOUT_MS));
    state.token = answer.access_token;
    state.endsAt = askedAt + (answer.expires_in ?? USUAL_SECONDS) * 1000;
    state.refreshToken = answer.refresh_token ?? state.refreshToken;
    return state.token;
  } catch (error) {
    throw toMailError(error, new URL(options.tokenUrl).host);
  }
}

function toMailError(error: unknown, host: string): MailError {
  if (error instanceof TokenRefusal) {
    return new MailError(
      "login",
      `${host} gives no access token: ${error.message}. Run \`webhooks mail setup\` again.`,
    );
  }
  // The cause names it where `fetch` says only that it failed.
  const reason = error instanceof TypeError && error.cause ? error.cause : error;
  return new MailError("network", `No access token could be got from ${host}: ${messageOf(reason)}`, {
    cause: error,
  });
}
