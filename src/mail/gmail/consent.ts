import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { OAuth2Client } from "google-auth-library";
import { sameSecret } from "../../config/secret.ts";
import { MailError } from "../../errors.ts";
import { createGmailApi } from "./gmail-api.ts";
import { createOAuthClient, loadS256 } from "./oauth-client.ts";
import { toMailError } from "./to-mail-error.ts";

/** What a mailbox is read and its notifications are pulled with. */
export const GMAIL_SCOPES = [
  "https://www.googleapis.com/auth/gmail.readonly",
  "https://www.googleapis.com/auth/pubsub",
];

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
  const server = createServer();
  server.listen(options.redirectPort ?? 0, "127.0.0.1");
  await once(server, "listening");
  const { redirectPort: _, user, apiUrl, ...rest } = options;
  const client = await createOAuthClient({ ...rest, redirectUri: `http://127.0.0.1:${portOf(server)}` });
  const { codeVerifier, codeChallenge } = await client.generateCodeVerifierAsync();
  const state = randomBytes(32).toString("base64url");
  return {
    url: client.generateAuthUrl({
      access_type: "offline",
      // Google gives a refresh token at the first consent alone, unless it is asked to ask again.
      prompt: "consent",
      scope: GMAIL_SCOPES,
      state,
      code_challenge: codeChallenge,
      code_challenge_method: await loadS256(),
      ...(user && { login_hint: user }),
    }),
    async wait(signal) {
      try {
        const code = await waitForCode(server, state, signal);
        return await redeem(client, { code, codeVerifier, apiUrl }, signal);
      } finally {
        close(server);
      }
    },
    close: () => close(server),
  };
}

function waitForCode(server: Server, state: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      const query = new URL(request.url ?? "", "http://127.0.0.1").searchParams;
      // Whoever else knows the port knows no state.
      if (!sameSecret(query.get("state") ?? "", state))
        return answer(response, 400, "This is not the page that was asked for.");
      const code = query.get("code");
      answer(
        response,
        200,
        code ? "Done. You can close this page." : "The consent was not given. You can close this page.",
      );
      if (code) resolve(code);
      else reject(new MailError("login", `The consent was not given: ${toName(query.get("error"))}.`));
    });
  });
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
  if (tokens.refresh_token && emailAddress)
    return { refreshToken: tokens.refresh_token, email: emailAddress };
  throw new MailError(
    "login",
    "Google gave no refresh token. Remove the app at https://myaccount.google.com/permissions and try again.",
  );
}

function answer(response: ServerResponse, status: number, words: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end(words);
}

function close(server: Server): void {
  server.close();
  server.closeIdleConnections();
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

/** `access_denied`: as the browser brings it, so that nothing else gets through. */
function toName(error: string | null): string {
  return /^\w{1,40}$/.exec(error ?? "")?.[0] ?? "no reason given";
}
