import { DriverError } from "../errors.ts";
import { untilAborted } from "../shared/async.ts";
import { isObject } from "../shared/json.ts";
import type { ChannelDriver, OutgoingMessage } from "./driver.ts";
import { type HttpAnswer, post, toNoAnswer, toRefusal } from "./http.ts";

export interface MsteamsOptions extends BotCredentials {
  /** The service URL that activities of the bot bear. */
  baseUrl?: string;
}

/**
 * Posts to Microsoft Teams through the Bot Framework's connector. It knows no idempotency key: a message whose answer was
 * lost may come twice.
 */
export function createMsteams(options: MsteamsOptions): ChannelDriver {
  const tokens = createTokenSource(options);
  return {
    name: "msteams",
    // Teams takes about 28 KB of UTF-16, two bytes a unit, everything around the text among them.
    limit: 14_000,
    checkRecipient,
    send: (message, signal) => send({ ...options, tokens }, message, signal),
  };
}

/** `19:…` is a channel or a group chat, `a:…` a chat with one person; `;messageid=…` at the end is a thread. */
const CONVERSATION = /^(?:19|a):[\w.:;=@+~-]{3,500}$/;

function checkRecipient(to: string): void {
  if (CONVERSATION.test(to)) return;
  throw new DriverError(
    "Expected the id of a Teams conversation such as 19:…@thread.tacv2 or a:…, as activities of the bot bear it.",
    { retryable: false },
  );
}

async function send(
  { tokens, baseUrl = "https://smba.trafficmanager.net/teams" }: MsteamsOptions & { tokens: TokenSource },
  { to, text }: OutgoingMessage,
  signal: AbortSignal,
): Promise<{ messageId?: string }> {
  checkRecipient(to);
  const token = await tokens.get(signal);
  const answer = await post({
    service: "Teams",
    url: `${baseUrl.replace(/\/$/, "")}/v3/conversations/${encodeURIComponent(to)}/activities`,
    headers: { authorization: `Bearer ${token}` },
    body: { type: "message", textFormat: "plain", text },
    signal,
  });
  const { id } = answer.body;
  // A 2xx of anything but the service, a proxy's sign-in page say, has no id in it.
  if ([200, 201, 202].includes(answer.status) && typeof id === "string") return { messageId: id };
  if (answer.status === 401) tokens.forget(token);
  throw toDriverError(answer);
}

const ADVICE = new Map([
  [401, "Check channels.msteams.appId and tenantId."],
  [403, "Install the bot where the conversation is."],
  [404, "Check the recipient and channels.msteams.baseUrl."],
]);

function toDriverError(answer: HttpAnswer): DriverError {
  const { error } = answer.body;
  return toRefusal("Teams", answer, {
    reason: isObject(error) ? error["code"] : undefined,
    advice: ADVICE.get(answer.status),
    // A token may be withdrawn before its time: the next try gets a new one.
    retryable: answer.status === 401 ? true : undefined,
  });
}

export interface BotCredentials {
  /** Of the bot's registration. */
  appId: string;
  /** Its client secret. Travels to the token endpoint only. */
  appPassword: string;
  /** The tenant of a single-tenant bot. */
  tenantId?: string;
  /** For tests and other clouds. */
  tokenUrl?: string;
}

export interface TokenSource {
  /** A token that still holds for a while. All who ask while one is fetched get the same. */
  get(signal: AbortSignal): Promise<string>;
  /** The next one to ask does not get this token. */
  forget(token: string): void;
}

interface Token {
  token: string;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/** A token that ends sooner than this is not used: it has to hold until it arrives. */
const MARGIN_MS = 300_000;

const FETCH_TIMEOUT_MS = 15_000;

/** Bearer tokens of a bot, by its client credentials; each is kept until shortly before it ends. */
export function createTokenSource(options: BotCredentials): TokenSource {
  let kept: Token | undefined;
  let fetching: Promise<Token> | undefined;
  return {
    async get(signal) {
      if (kept && kept.expiresAt - MARGIN_MS > Date.now()) return kept.token;
      fetching ??= fetchToken(options).finally(() => (fetching = undefined));
      kept = await unlessAborted(fetching, signal);
      return kept.token;
    },
    forget(token) {
      if (kept?.token === token) kept = undefined;
    },
  };
}

/** Has a time limit of its own: whoever asked first may give up while others still wait. */
async function fetchToken({
  appId,
  appPassword,
  tenantId = "botframework.com",
  tokenUrl = `https://login.microsoftonline.com/${tenantId}/oauth2/v2.0/token`,
}: BotCredentials): Promise<Token> {
  const answer = await post({
    service: "Microsoft's sign-in",
    url: tokenUrl,
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: appId,
      client_secret: appPassword,
      scope: "https://api.botframework.com/.default",
    }),
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
  });
  const { access_token: token, expires_in: seconds, error } = answer.body;
  if (answer.status === 200 && typeof token === "string") {
    return { token, expiresAt: Date.now() + Number(seconds) * 1000 };
  }
  throw toRefusal("Microsoft's sign-in", answer, {
    reason: error,
    advice: "Check channels.msteams.appId, appPassword and tenantId.",
  });
}

async function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  try {
    return await untilAborted(promise, signal);
  } catch (error) {
    throw signal.aborted ? toNoAnswer("Microsoft's sign-in", error, signal) : error;
  }
}
