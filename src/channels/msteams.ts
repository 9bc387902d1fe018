import { isObject } from "../config/is-object.ts";
import { DriverError } from "../errors.ts";
import { post, toRefusal, type HttpAnswer } from "./http.ts";
import { type BotCredentials, createTokenSource, type TokenSource } from "./msteams-token.ts";
import type { ChannelDriver, OutgoingMessage } from "./port.ts";

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
    "lasting",
    "Expected the id of a Teams conversation such as 19:…@thread.tacv2 or a:…, as activities of the bot bear it.",
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
    kind: answer.status === 401 ? "passing" : undefined,
  });
}
