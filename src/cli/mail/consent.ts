import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { MailError } from "../../core/errors.ts";
import { GOOGLE_TOKEN_URL, GoogleFailure, type GoogleOAuth, toMailError } from "../../mail/gmail/google.ts";
import { cleanLine } from "../../mail/message/text.ts";
import { type OAuthClient, postForm } from "../../mail/oauth.ts";
import { sameSecret } from "../../core/shared/secret.ts";
import { withPeriod } from "../../core/shared/text/text.ts";
import { untilAborted } from "../../core/shared/time.ts";

/** To read the mailbox and to pull its notifications. */
const SCOPES = ["https://www.googleapis.com/auth/gmail.readonly", "https://www.googleapis.com/auth/pubsub"];

const CONSENT_URL = "https://accounts.google.com/o/oauth2/v2/auth";

/** The client must be of the type "Desktop app". */
interface ConsentOptions extends Omit<GoogleOAuth, "refreshToken"> {
  user?: string;
  /** Instead of Google's own address. */
  authUrl?: string;
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
  const { user, clientId, authUrl = CONSENT_URL } = options;
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const redirectUri = `http://127.0.0.1:${typeof address === "object" ? address?.port : undefined}`;
  const codeVerifier = randomBytes(96).toString("base64url");
  const state = randomBytes(32).toString("base64url");
  const page = new URL(authUrl);
  const query = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: SCOPES.join(" "),
    access_type: "offline",
    // Without it, Google gives a refresh token only at the first consent.
    prompt: "consent",
    state,
    code_challenge: createHash("sha256").update(codeVerifier).digest("base64url"),
    code_challenge_method: "S256",
    ...(user && { login_hint: user }),
  };
  for (const [name, value] of Object.entries(query)) page.searchParams.set(name, value);
  return { url: page.href, wait, close };

  async function wait(signal: AbortSignal): Promise<string> {
    try {
      const code = await untilAborted(receiveCode(server, state), signal);
      return await redeem(options, { code, code_verifier: codeVerifier, redirect_uri: redirectUri });
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
    reject(refusal(/^\w{1,40}$/.exec(query.get("error") ?? "")?.[0]));
  });
  return promise;
}

async function redeem(
  { clientId, clientSecret, tokenUrl = GOOGLE_TOKEN_URL }: ConsentOptions,
  proof: { code: string; code_verifier: string; redirect_uri: string },
): Promise<string> {
  const form = { grant_type: "authorization_code", client_id: clientId, client_secret: clientSecret, ...proof };
  const { status, answer } = await postForm(tokenUrl, form);
  if (status !== 200) throw toMailError(new GoogleFailure({ status, data: answer }), "get a refresh token");
  if (typeof answer.refresh_token === "string" && answer.refresh_token) return answer.refresh_token;
  const advice = "Remove the app at https://myaccount.google.com/permissions and try again.";
  throw new MailError("login", `Google gave no refresh token. ${advice}`);
}

interface DeviceCodeOptions extends OAuthClient {
  /** Where the codes come from, https unless it is on this machine. */
  deviceUrl: string;
}

/** A consent that a person gives in a browser, on any device. */
export interface DeviceConsent {
  /** The page, and what to enter there. */
  url: string;
  userCode: string;
  /** Resolves to a refresh token. Rejects with a `MailError` if the consent is refused or too late, or with the signal's reason. */
  wait(signal: AbortSignal): Promise<string>;
}

const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code";
/** If the server does not say. */
const DEFAULT_INTERVAL_SECONDS = 5;
const DEFAULT_EXPIRY_SECONDS = 900;
/** Seconds that `slow_down` adds to the interval. */
const SLOW_DOWN_SECONDS = 5;

/** Asks for access to a mailbox with a device code (RFC 8628). Rejects with a `MailError`. */
export async function requestDeviceCode(options: DeviceCodeOptions): Promise<DeviceConsent> {
  const { clientId, scope } = options;
  const { answer, reason } = await postForm(options.deviceUrl, { client_id: clientId, scope });
  const { device_code: code, user_code: userCode, verification_uri: url, interval, expires_in: expiry } = answer;
  if (typeof code !== "string" || typeof userCode !== "string" || typeof url !== "string") throw refusal(reason);
  const waiting = {
    code,
    intervalSeconds: typeof interval === "number" ? interval : DEFAULT_INTERVAL_SECONDS,
    endsAt: performance.now() + (Number(expiry) || DEFAULT_EXPIRY_SECONDS) * 1000,
  };
  return { url: cleanLine(url), userCode: cleanLine(userCode), wait: (signal) => poll(options, waiting, signal) };
}

async function poll(
  { tokenUrl, clientId, clientSecret }: DeviceCodeOptions,
  { code, intervalSeconds, endsAt }: { code: string; intervalSeconds: number; endsAt: number },
  signal: AbortSignal,
): Promise<string> {
  const form = { grant_type: GRANT_TYPE, device_code: code, client_id: clientId, client_secret: clientSecret };
  let seconds = intervalSeconds;
  while (performance.now() < endsAt) {
    await sleep(seconds * 1000, undefined, { signal });
    const { answer, reason, isTemporary } = await postForm(tokenUrl, form);
    if (typeof answer.refresh_token === "string" && answer.refresh_token) return answer.refresh_token;
    if (answer.access_token) throw refusal("no refresh token: the scope offline_access may be missing");
    if (answer.error === "slow_down") seconds += SLOW_DOWN_SECONDS;
    else if (answer.error !== "authorization_pending" && !isTemporary) throw refusal(reason);
  }
  throw refusal("expired_token");
}

function refusal(reason = "no reason given"): MailError {
  return new MailError("login", `The consent was not given: ${withPeriod(reason)}`);
}
