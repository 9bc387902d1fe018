import { untilAborted } from "../until-aborted.ts";
import { post, toNoAnswer, toRefusal } from "./http.ts";

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
