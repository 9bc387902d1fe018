import { isObject } from "../config/is-object.ts";
import { DriverError } from "../errors.ts";
import { post, toRefusal, type HttpAnswer } from "./http.ts";
import type { ChannelDriver, OutgoingMessage } from "./port.ts";
import { toDriverError, wasTaken } from "./signal-errors.ts";

export interface SignalOptions {
  /** Where `signal-cli daemon --http` listens. It knows no credentials: it should be reachable from here only. */
  baseUrl?: string;
  /** The sending account's number or id. Needed where the daemon has several. */
  account?: string;
}

/**
 * Sends through the daemon of signal-cli. Signal knows no idempotency key: a message whose answer was lost may come
 * twice.
 */
export function createSignal(options: SignalOptions): ChannelDriver {
  return {
    name: "signal",
    limit: 2000,
    measure: (text) => Buffer.byteLength(text),
    checkRecipient: (to) => void toRecipient(to),
    send: (message, signal) => send(options, message, signal),
  };
}

type Recipient = { recipient: string[] } | { username: string[] } | { groupId: string };

const NUMBER_OR_ID = /^(?:\+\d{5,15}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i;
const USERNAME = /^(?:u:)?([a-z_]\w{2,31}\.\d{2,20})$/i;
/** 32 bytes as base64, or the 16 of an old group. */
const GROUP_ID = /^(?:group:)?([a-z\d+/]{43}=|[a-z\d+/]{22}==)$/i;

function toRecipient(to: string): Recipient {
  if (NUMBER_OR_ID.test(to)) return { recipient: [to] };
  const username = USERNAME.exec(to)?.[1];
  if (username) return { username: [username] };
  const groupId = GROUP_ID.exec(to)?.[1];
  if (groupId) return { groupId };
  throw new DriverError(
    "lasting",
    "Expected a number such as +15551234567, a username such as ada.42, or a group id as `signal-cli listGroups` shows it.",
  );
}

async function send(
  { baseUrl = "http://127.0.0.1:8080", account }: SignalOptions,
  { to, text, idempotencyKey }: OutgoingMessage,
  signal: AbortSignal,
): Promise<{ messageId?: string }> {
  const params = { account, ...toRecipient(to), message: text };
  const answer = await post({
    service: "signal-cli",
    url: `${baseUrl.replace(/\/$/, "")}/api/v1/rpc`,
    body: { jsonrpc: "2.0", id: idempotencyKey, method: "send", params },
    signal,
  });
  return { messageId: readMessageId(answer) };
}

/** The time of sending is what Signal knows a message by. */
function readMessageId(answer: HttpAnswer): string {
  const { error, result } = answer.body;
  if (answer.status !== 200) throw toRefusal("signal-cli", answer, { advice: ADVICE.get(answer.status) });
  if (isObject(error)) throw toDriverError(error);
  if (!isObject(result) || !("timestamp" in result)) {
    throw new DriverError("passing", "The answer of signal-cli could not be read.");
  }
  if (!wasTaken(result)) throw toDriverError({ data: { response: result } });
  return String(result["timestamp"]);
}

const ADVICE = new Map([
  [404, "Check channels.signal.baseUrl."],
  [421, "signal-cli wants to be called by the name that its --http option says."],
]);
