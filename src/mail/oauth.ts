import { isLoopback } from "./options.ts";
import { MailError, messageOf } from "../errors.ts";
import { untilAborted } from "../shared/async.ts";
import { isRetryableStatus } from "../shared/http-status.ts";
import { parseObject } from "../shared/json.ts";
import { cleanLine } from "./message/text.ts";
import type { RefreshTokens } from "./source.ts";

export interface AccessTokens {
  /** Returns a token that is valid for a while. Rejects with a `MailError`, with the signal's reason, or if a new refresh token cannot be stored. */
  get(signal: AbortSignal, stored?: RefreshTokens): Promise<string>;
  /** The token was refused: it is not returned again. */
  forget(token: string): void;
}

export interface RefreshOptions {
  /** https, unless it is on this machine. */
  tokenUrl: string;
  clientId: string;
  /** Absent for a public client. */
  clientSecret?: string;
  refreshToken: string;
  /** Separated by spaces. */
  scope?: string;
}

/** How long a token is valid if the server does not say. */
const DEFAULT_SECONDS = 300;
/** A token that ends sooner is not used: a login takes a while. */
const MARGIN_MS = 60_000;
const TIMEOUT_MS = 30_000;
const TEMPORARY_ERRORS = ["temporarily_unavailable", "server_error", "slow_down"];

interface State {
  token?: string;
  /** Milliseconds since the epoch. */
  endsAt: number;
  /** A server may replace it with each access token. undefined: not in this process. */
  refreshToken?: string;
  /** The request in flight, shared by all who wait. */
  pending?: Promise<string>;
}

/** Gets access tokens for a refresh token (RFC 6749, 6), and keeps each while it is valid. */
export function createAccessTokens(options: RefreshOptions): AccessTokens {
  const state: State = { endsAt: 0 };
  return {
    async get(signal, stored) {
      signal.throwIfAborted();
      if (state.token !== undefined && Date.now() < state.endsAt - MARGIN_MS) return state.token;
      state.pending ??= refresh(options, state, stored).finally(() => delete state.pending);
      return untilAborted(state.pending, signal);
    },
    forget(token) {
      if (state.token === token) delete state.token;
    },
  };
}

async function refresh(options: RefreshOptions, state: State, stored?: RefreshTokens): Promise<string> {
  const { host, hostname, protocol } = new URL(options.tokenUrl);
  const toFailure = (reason: string, cause?: unknown): MailError =>
    new MailError("network", `No access token from ${host}: ${reason}`, { cause });
  if (protocol !== "https:" && !isLoopback(hostname)) throw toFailure("tokenUrl must begin with https://");

  const requestedAt = Date.now();
  const request = (refreshToken: string): ReturnType<typeof requestToken> =>
    requestToken(options, refreshToken).catch((error: unknown) => {
      // `fetch` gives the reason in the cause.
      throw toFailure(messageOf((error instanceof TypeError && error.cause) || error), error);
    });
  const configured = options.refreshToken;
  const current = state.refreshToken ?? (await stored?.find(configured)) ?? configured;
  let { status, answer } = await request(current);
  // A stored token can be from an old backup.
  if (answer.error === "invalid_grant" && current !== configured) ({ status, answer } = await request(configured));
  const error = cleanLine(typeof answer.error === "string" ? answer.error : `status ${status}`, 100);
  const isTemporary = isRetryableStatus(status) || TEMPORARY_ERRORS.includes(error);
  if (status === 401 || (answer.error && !isTemporary)) {
    throw new MailError("login", `${host} refuses an access token: ${error}. Run \`webhooks mail setup\` again.`);
  }
  const { access_token: token, expires_in: seconds, refresh_token: next } = answer;
  if (status !== 200 || typeof token !== "string") throw toFailure(error);
  if (typeof next === "string" && next && next !== current) {
    state.refreshToken = next;
    // First, so that it is stored again at the next attempt if that fails.
    await stored?.replace(configured, next);
  }
  state.token = token;
  state.endsAt = requestedAt + (Number(seconds) || DEFAULT_SECONDS) * 1000;
  return token;
}

async function requestToken(
  { tokenUrl, clientId, clientSecret, scope }: RefreshOptions,
  refreshToken: string,
): Promise<{ status: number; answer: Record<string, unknown> }> {
  const response = await fetch(tokenUrl, {
    method: "POST",
    headers: { accept: "application/json" },
    body: new URLSearchParams({
      grant_type: "refresh_token",
      refresh_token: refreshToken,
      client_id: clientId,
      ...(clientSecret && { client_secret: clientSecret }),
      ...(scope && { scope }),
    }),
    // A redirect must not take the secrets elsewhere.
    redirect: "manual",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return { status: response.status, answer: parseObject(await response.text()) };
}
