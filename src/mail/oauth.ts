import {
  allowInsecureRequests,
  type AuthorizationServer,
  ClientSecretPost,
  customFetch,
  None,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
  ResponseBodyError,
  type TokenEndpointResponse,
  WWWAuthenticateChallengeError,
} from "oauth4webapi";
import { isLoopback } from "../config/is-loopback.ts";
import { MailError, messageOf } from "../errors.ts";
import { untilAborted } from "../shared/async.ts";
import { isRetryableStatus } from "../shared/http-status.ts";
import { isObject } from "../shared/json.ts";
import { cleanLine } from "./message/text.ts";

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

interface TokenClient {
  /** Where access tokens come from. Over TLS, unless it is on this machine. */
  tokenUrl: string;
  clientId: string;
  /** Absent for a client that has none. */
  clientSecret?: string;
  /** Separated by spaces. */
  scope?: string;
}

/** What the server says of a request that it understood and will not grant: `invalid_grant`. */
class TokenRefusal extends Error {
  override name = "TokenRefusal";
}

/** Gets an access token for a refresh token (RFC 6749, 6). Rejects with a `TokenRefusal`, or with anything where no answer came. */
async function requestToken(
  client: TokenClient,
  refreshToken: string,
  signal: AbortSignal,
): Promise<TokenEndpointResponse> {
  const url = new URL(client.tokenUrl);
  const server: AuthorizationServer = { issuer: url.origin, token_endpoint: url.href };
  const authentication = client.clientSecret ? ClientSecretPost(client.clientSecret) : None();
  try {
    const response = await refreshTokenGrantRequest(
      server,
      { client_id: client.clientId },
      authentication,
      refreshToken,
      {
        signal,
        additionalParameters: client.scope ? { scope: client.scope } : {},
        [allowInsecureRequests]: isLoopback(url.hostname),
        [customFetch]: async (input, init) => readAnswer(await fetch(input, init)),
      },
    );
    return await processRefreshTokenResponse(server, { client_id: client.clientId }, response);
  } catch (error) {
    throw toRefusal(error) ?? error;
  }
}

const MAX_WORD = 100;
/** What passes by itself is none. */
const PASSING = new Set(["temporarily_unavailable", "server_error", "slow_down"]);

function toRefusal(error: unknown): TokenRefusal | undefined {
  if (error instanceof WWWAuthenticateChallengeError) return new TokenRefusal("invalid_client");
  if (!(error instanceof ResponseBodyError) || isRetryableStatus(error.status)) return undefined;
  return PASSING.has(error.error) ? undefined : new TokenRefusal(cleanLine(error.error, MAX_WORD));
}

/** Far more than a token and what comes with it. */
const MAX_BYTES = 64 * 1024;

/** A token endpoint's answer, bounded, and without the identity token: nobody asked for it, and its issuer is not known. */
async function readAnswer(response: Response): Promise<Response> {
  const text = await readText(response);
  const { status, headers } = response;
  return new Response(withoutIdentity(text), { status, headers });
}

async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) throw new Error(`The answer is longer than ${MAX_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function withoutIdentity(text: string): string {
  try {
    const answer: unknown = JSON.parse(text);
    return JSON.stringify(isObject(answer) ? { ...answer, id_token: undefined } : answer);
  } catch {
    // What is no JSON is reported by whoever reads it.
    return text;
  }
}
