import { randomBytes } from "node:crypto";
import type { OAuth2Client } from "google-auth-library";
import { MailError } from "../../errors.ts";
import { createGmailApi } from "./gmail-api.ts";
import { createOAuthClient, loadS256 } from "./oauth-client.ts";
import { startRedirectServer } from "./redirect-server.ts";
import { toMailError } from "./to-mail-error.ts";

/** What a mailbox is read and its notifications are pulled with. */
const SCOPES = ["https://www.googleapis.com/auth/gmail.readonly", "https://www.googleapis.com/auth/pubsub"];

export interface ConsentOptions {
  /** Of a client of the kind "Desktop app". */
  clientId: string;
  clientSecret?: string;
  /** Port on the loopback that the browser comes back to. Default: a free one. */
  redirectPort?: number;
  /** Shown as chosen on Google's page. */
  user?: string;
  authUrl?: string;
  tokenUrl?: string;
  apiUrl?: string;
}

export interface Consent {
  /** The page where a person consents: to be opened on this machine. */
  url: string;
  /** Resolves once that is done. Rejects with a `MailError` where it was refused, with the signal's reason where it aborts. Call once. */
  wait(signal: AbortSignal): Promise<{ refreshToken: string; email: string }>;
  /** Stops listening; `wait` does it itself. */
  close(): void;
}

/** Asks a person for access to a mailbox, in the browser: with a loopback redirect, a state and PKCE (RFC 8252). */
export async function createConsent(options: ConsentOptions): Promise<Consent> {
  const { redirectPort = 0, user, apiUrl, ...rest } = options;
  const redirect = await startRedirectServer(redirectPort);
  const client = await createOAuthClient({ ...rest, redirectUri: redirect.uri });
  const { codeVerifier, codeChallenge } = await client.generateCodeVerifierAsync();
  const state = randomBytes(32).toString("base64url");
  return {
    url: client.generateAuthUrl({
      access_type: "offline",
      // Google gives a refresh token at the first consent alone, unless it is asked to ask again.
      prompt: "consent",
      scope: SCOPES,
      state,
      code_challenge: codeChallenge,
      code_challenge_method: await loadS256(),
      ...(user && { login_hint: user }),
    }),
    async wait(signal) {
      try {
        const code = await redirect.waitForCode(state, signal);
        return await redeem(client, { code, codeVerifier, apiUrl }, signal);
      } finally {
        redirect.close();
      }
    },
    close: redirect.close,
  };
}

async function redeem(
  client: OAuth2Client,
  { code, codeVerifier, apiUrl }: { code: string; codeVerifier: string; apiUrl: string | undefined },
  signal: AbortSignal,
): Promise<{ refreshToken: string; email: string }> {
  const { tokens } = await client.getToken({ code, codeVerifier }).catch((error: unknown) => {
    throw toMailError(error, "get a refresh token");
  });
  client.setCredentials(tokens);
  const api = await createGmailApi({ auth: client, rootUrl: apiUrl });
  const { emailAddress } = await api.profile(signal);
  const { refresh_token: refreshToken } = tokens;
  if (refreshToken && emailAddress) return { refreshToken, email: emailAddress };
  const advice = "Remove the app at https://myaccount.google.com/permissions and try again.";
  throw new MailError("login", `Google gave no refresh token. ${advice}`);
}
