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
import { isLoopback } from "../../config/is-loopback.ts";
import { cleanLine } from "../content/clean.ts";
import { readAnswer } from "./read-answer.ts";

export interface TokenClient {
  /** Where access tokens come from. Over TLS, unless it is on this machine. */
  tokenUrl: string;
  clientId: string;
  /** Absent for a client that has none. */
  clientSecret?: string;
  /** Separated by spaces. */
  scope?: string;
}

/** What the server says of a request that it understood and will not grant: `invalid_grant`. */
export class TokenRefusal extends Error {
  override name = "TokenRefusal";
}

/** Gets an access token for a refresh token (RFC 6749, 6). Rejects with a `TokenRefusal`, or with anything where no answer came. */
export async function requestToken(
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

const LONGEST_WORD = 100;
/** What passes by itself is none. */
const PASSING = new Set(["temporarily_unavailable", "server_error", "slow_down"]);

function toRefusal(error: unknown): TokenRefusal | undefined {
  if (error instanceof WWWAuthenticateChallengeError) return new TokenRefusal("invalid_client");
  if (!(error instanceof ResponseBodyError) || error.status >= 500 || error.status === 429) return undefined;
  return PASSING.has(error.error) ? undefined : new TokenRefusal(cleanLine(error.error, LONGEST_WORD));
}
