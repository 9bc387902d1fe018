import type { OAuth2Client } from "google-auth-library";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { MailError } from "../../errors.ts";
import { untilAborted } from "../../shared/time.ts";
import { sameSecret } from "../../shared/secret.ts";
import { createOAuthClient, type OAuthClientOptions, toMailError } from "./api.ts";

/** To read the mailbox and to pull its notifications. */
const SCOPES = ["https://www.googleapis.com/auth/gmail.readonly", "https://www.googleapis.com/auth/pubsub"];

/** The client must be of the type "Desktop app". */
interface ConsentOptions extends Omit<OAuthClientOptions, "refreshToken" | "redirectUri"> {
  user?: string;
}

export interface Consent {
  /** The page where the user consents, to be opened on this machine. */
  url: string;
  /** Resolves to a refresh token after the consent. Rejects with a `MailError` if it is refused, or with the signal's reason. Call it once. */
  wait(signal: AbortSignal): Promise<string>;
  /** Stops listening. `wait` does it too. */
  close(): void;
}

/** Asks a user for access to a mailbox in the browser, with a loopback redirect, a state and PKCE (RFC 8252). */
export async function createConsent(options: ConsentOptions): Promise<Consent> {
  const { user, ...clientOptions } = options;
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const client = await createOAuthClient({ ...clientOptions, redirectUri: `http://127.0.0.1:${port}` });
  const { codeVerifier, codeChallenge } = await client.generateCodeVerifierAsync();
  const state = randomBytes(32).toString("base64url");
  const page = client.generateAuthUrl({
    access_type: "offline",
    // Without it, Google gives a refresh token only at the first consent.
    prompt: "consent",
    scope: SCOPES,
    state,
    code_challenge: codeChallenge,
    ...(user && { login_hint: user }),
  });
  return { url: `${page}&code_challenge_method=S256`, wait, close };

  async function wait(signal: AbortSignal): Promise<string> {
    try {
      const code = await untilAborted(receiveCode(server, state), signal);
      return await redeem(client, { code, codeVerifier });
    } finally {
      close();
    }
  }

  function close(): void {
    server.close();
    server.closeIdleConnections();
  }
}

/** Waits for the browser to come back with a code. Rejects with a `MailError` if the consent was refused. */
function receiveCode(server: Server, state: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  server.on("request", ({ url = "" }, response) => {
    const query = URL.parse(url, "http://127.0.0.1")?.searchParams ?? new URLSearchParams();
    const answer = (status: number, text: string): unknown =>
      response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end(text);
    // Another program may know the port, but not the state.
    if (!sameSecret(query.get("state") ?? "", state)) return void answer(400, "This is not the requested page.");
    const code = query.get("code");
    if (code) {
      answer(200, "Done. You can close this page.");
      return resolve(code);
    }
    answer(200, "The consent was not given. You can close this page.");
    // `access_denied`. Nothing else from the browser gets into the message.
    const reason = /^\w{1,40}$/.exec(query.get("error") ?? "")?.[0] ?? "no reason given";
    reject(new MailError("login", `The consent was not given: ${reason}.`));
  });
  return promise;
}

async function redeem(client: OAuth2Client, proof: { code: string; codeVerifier: string }): Promise<string> {
  const { tokens } = await client.getToken(proof).catch((error: unknown) => {
    throw toMailError(error, "get a refresh token");
  });
  if (tokens.refresh_token) return tokens.refresh_token;
  const advice = "Remove the app at https://myaccount.google.com/permissions and try again.";
  throw new MailError("login", `Google gave no refresh token. ${advice}`);
}
