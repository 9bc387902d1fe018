import { DriverError } from "../errors.ts";
import type { ChannelDriver, OutgoingMessage } from "./driver.ts";
import { type HttpAnswer, post, toRefusal } from "./http.ts";

export interface MattermostOptions {
  /** Access token of a bot account. Travels in the `Authorization` header only. */
  token: string;
  /** The server as people open it, with or without a trailing slash. */
  baseUrl: string;
}

/**
 * Posts to a Mattermost server as a bot. The server drops a repeat that comes within 30 seconds. Whether a text that says
 * `@channel` notifies everyone is up to the permissions of the bot's account: no field of a post can forbid it.
 */
export function createMattermost(options: MattermostOptions): ChannelDriver {
  return {
    name: "mattermost",
    limit: 16_383,
    measure: countCharacters,
    checkRecipient,
    send: (message, signal) => send(options, message, signal),
  };
}

/** What the server itself asks of an id. */
const RECIPIENT = /^[A-Za-z0-9]{26}$/;

function checkRecipient(to: string): void {
  if (RECIPIENT.test(to)) return;
  throw new DriverError(
    "Expected the id of a Mattermost channel, 26 letters and digits, as the channel's info shows it.",
    { retryable: false },
  );
}

async function send(
  { token, baseUrl }: MattermostOptions,
  { to, text, idempotencyKey }: OutgoingMessage,
  signal: AbortSignal,
): Promise<{ messageId?: string }> {
  checkRecipient(to);
  const answer = await post({
    service: "Mattermost",
    url: `${baseUrl.replace(/\/$/, "")}/api/v4/posts`,
    headers: { authorization: `Bearer ${token}` },
    body: { channel_id: to, message: text, pending_post_id: idempotencyKey },
    signal,
  });
  const { id } = answer.body;
  // A 2xx of anything but the server, a proxy's sign-in page say, has no post in it.
  if (answer.status !== 201 || typeof id !== "string") throw toFailure(answer);
  return { messageId: id };
}

const ADVICE = new Map([
  [401, "Check channels.mattermost.token."],
  [403, "Check the recipient, and add the bot to the channel."],
  [404, "Check the recipient and channels.mattermost.baseUrl."],
]);

function toFailure(answer: HttpAnswer): DriverError {
  return toRefusal("Mattermost", answer, {
    reason: answer.body["message"],
    advice: ADVICE.get(answer.status),
  });
}

/** Characters as the server counts them: a surrogate pair is one. */
function countCharacters(text: string): number {
  return Array.from(text).length;
}
