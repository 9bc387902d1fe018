import { DriverError } from "../errors.ts";
import { isObject } from "../shared/json.ts";
import type { ChannelDriver, OutgoingMessage } from "./driver.ts";
import { type HttpAnswer, post, toRefusal } from "./http.ts";

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
    "Expected a number such as +15551234567, a username such as ada.42, or a group id as `signal-cli listGroups` shows it.",
    { retryable: false },
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
    throw new DriverError("The answer of signal-cli could not be read.", { retryable: true });
  }
  if (!wasTaken(result)) throw toDriverError({ data: { response: result } });
  return String(result["timestamp"]);
}

const ADVICE = new Map([
  [404, "Check channels.signal.baseUrl."],
  [421, "signal-cli wants to be called by the name that its --http option says."],
]);

/** What became of the message for one of its recipients: https://github.com/AsamK/signal-cli, JsonSendMessageResult. */
interface Outcome {
  type: string;
  retryAfterSeconds: number | undefined;
}

/** Codes of signal-cli's own and of JSON-RPC that say nothing against the message: https://github.com/AsamK/signal-cli. */
const PASSING_CODES = new Set([
  -3, // an error of input or output
  -5, // a rate limit
  -32_603, // anything unforeseen, Signal's servers out of reach among them
]);

const PASSING_OUTCOMES = new Set(["NETWORK_FAILURE", "RATE_LIMIT_FAILURE"]);

const RECIPIENT_ADVICE = new Map<unknown, string>([
  ["IDENTITY_FAILURE", "The recipient's safety number has changed: trust it with `signal-cli trust`."],
  ["UNREGISTERED_FAILURE", "The recipient is not on Signal."],
  ["RATE_LIMIT_FAILURE", "Signal may want a captcha solved: see `signal-cli submitRateLimitChallenge`."],
  [-1, "Check the recipient, and that the account may write to it."],
  [-4, "The recipient's safety number has changed: trust it with `signal-cli trust`."],
  [-32_602, "Check channels.signal.account."],
]);

/** Whether anyone got it. Where some of a group did not, another try would reach the others twice. */
export function wasTaken(result: Record<string, unknown>): boolean {
  const outcomes = readOutcomes(result);
  return outcomes.length === 0 || outcomes.some(({ type }) => type === "SUCCESS");
}

/** Sorts a JSON-RPC error by whether another try can help: by what became of each recipient, else by its code. */
export function toDriverError(error: Record<string, unknown>): DriverError {
  const outcomes = readOutcomes(isObject(error["data"]) ? error["data"]["response"] : undefined);
  const passing = outcomes.find(({ type }) => PASSING_OUTCOMES.has(type));
  const reason = (passing ?? outcomes[0])?.type ?? error["code"];
  const retryable = passing !== undefined || PASSING_CODES.has(Number(error["code"]));
  // The words of the error may hold the recipient.
  const message = `signal-cli refused the message: ${String(reason)}. ${RECIPIENT_ADVICE.get(reason) ?? ""}`.trim();
  return new DriverError(message, { retryable, retryAfterMs: longestWaitMs(outcomes) });
}

function longestWaitMs(outcomes: Outcome[]): number | undefined {
  const seconds = outcomes.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  return seconds.length > 0 ? Math.max(...seconds) * 1000 : undefined;
}

function readOutcomes(result: unknown): Outcome[] {
  const outcomes: unknown = isObject(result) ? result["results"] : undefined;
  if (!Array.isArray(outcomes)) return [];
  return outcomes.filter(isObject).map(({ type, retryAfterSeconds }) => ({
    type: String(type),
    retryAfterSeconds: typeof retryAfterSeconds === "number" ? retryAfterSeconds : undefined,
  }));
}
