import type { OAuth2Client } from "google-auth-library";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { MailError } from "../../errors.ts";
import { sameSecret } from "../../shared/secret.ts";
import { createGmailApi, createOAuthClient, loadS256 } from "./api.ts";
import { toMailError } from "./errors.ts";

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

/** Where the browser comes back to after a consent. */
interface RedirectServer {
  uri: string;
  /** Resolves with the code that comes with this state. Rejects with a `MailError` where the consent was refused, or with the signal's reason. */
  waitForCode(state: string, signal: AbortSignal): Promise<string>;
  close(): void;
}

/** Listens on a port of the loopback: 0 takes a free one. */
async function startRedirectServer(port: number): Promise<RedirectServer> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    uri: `http://127.0.0.1:${portOf(server)}`,
    waitForCode: (state, signal) => waitForCode(server, state, signal),
    close() {
      server.close();
      server.closeIdleConnections();
    },
  };
}

function waitForCode(server: Server, state: string, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  if (signal.aborted) reject(signal.reason);
  server.on("request", (request, response) => {
    const { status, words, code, refusal } = judge(request, state);
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end(words);
    if (code) resolve(code);
    if (refusal) reject(refusal);
  });
  return promise;
}

interface Verdict {
  status: number;
  /** For the person in front of the browser. */
  words: string;
  code?: string;
  refusal?: MailError;
}

function judge({ url = "" }: IncomingMessage, state: string): Verdict {
  const query = URL.parse(url, "http://127.0.0.1")?.searchParams;
  // Whoever else knows the port knows no state.
  if (!sameSecret(query?.get("state") ?? "", state)) {
    return { status: 400, words: "This is not the page that was asked for." };
  }
  const code = query?.get("code");
  if (code) return { status: 200, words: "Done. You can close this page.", code };
  const refusal = new MailError("login", `The consent was not given: ${toName(query?.get("error"))}.`);
  return { status: 200, words: "The consent was not given. You can close this page.", refusal };
}

/** `access_denied`: whatever else the browser may bring does not get through. */
function toName(error: string | null | undefined): string {
  return /^\w{1,40}$/.exec(error ?? "")?.[0] ?? "no reason given";
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}
