import type { CodeChallengeMethod, OAuth2Client } from "google-auth-library";

export interface OAuthClientOptions {
  clientId?: string;
  /** Absent for a client that has none. */
  clientSecret?: string;
  /** Access tokens are got by it as they are needed, once for all who wait. */
  refreshToken?: string;
  redirectUri?: string;
  /** Where Google's own addresses do not hold. */
  tokenUrl?: string;
  authUrl?: string;
  certsUrl?: string;
}

/** Longest time for an answer to any request that sets no other, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** Google's OAuth: asks with access tokens, gets new ones, checks those that others bring. */
export async function createOAuthClient(options: OAuthClientOptions): Promise<OAuth2Client> {
  // Not before it is needed: Google's libraries take a while to load, and most services have no use for them.
  const google = await import("google-auth-library");
  const { clientId, clientSecret, redirectUri, refreshToken, ...urls } = options;
  const client = new google.OAuth2Client({
    clientId,
    clientSecret,
    redirectUri,
    // A token can be withdrawn before its time: a refusal is met once with a new one.
    forceRefreshOnFailure: true,
    transporterOptions: {
      timeout: TIMEOUT_MS,
      // The one that the library brings throws where nobody catches it when a post is aborted before it is sent.
      fetchImplementation: fetch,
    },
    endpoints: {
      ...(urls.tokenUrl && { oauth2TokenUrl: urls.tokenUrl }),
      ...(urls.authUrl && { oauth2AuthBaseUrl: urls.authUrl }),
      ...(urls.certsUrl && { oauth2FederatedSignonPemCertsUrl: urls.certsUrl }),
    },
  });
  if (refreshToken) client.setCredentials({ refresh_token: refreshToken });
  return client;
}

/** How Google is told that a code challenge is a SHA-256. */
export async function loadS256(): Promise<CodeChallengeMethod> {
  const { CodeChallengeMethod: methods } = await import("google-auth-library");
  return methods.S256;
}
