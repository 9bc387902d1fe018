import { DriverError } from "../errors.ts";
import { isObject } from "../shared/json.ts";
import type { ChannelDriver, OutgoingMessage } from "./driver.ts";
import { type HttpAnswer, post, toRefusal } from "./http.ts";

export interface WhatsappOptions {
  /** Access token of a system user. Travels in the `Authorization` header only. */
  token: string;
  /** Id of the business phone number that sends, not the number itself. */
  phoneNumberId: string;
  /** Version of the Graph API. */
  version?: string;
  baseUrl?: string;
}

/**
 * Sends through WhatsApp's Cloud API. It knows no idempotency key: a message whose answer was lost may come twice. Free
 * text reaches only those who wrote within the last 24 hours.
 */
export function createWhatsapp(options: WhatsappOptions): ChannelDriver {
  return {
    name: "whatsapp",
    limit: 4096,
    checkRecipient,
    send: (message, signal) => send(options, message, signal),
  };
}

/** Country code and number: 15 digits at most. */
const RECIPIENT = /^\+?\d{5,15}$/;

function checkRecipient(to: string): void {
  if (RECIPIENT.test(to)) return;
  throw new DriverError("Expected a phone number with its country code such as +15551234567.", { retryable: false });
}

async function send(
  options: WhatsappOptions,
  { to, text }: OutgoingMessage,
  signal: AbortSignal,
): Promise<{ messageId?: string }> {
  checkRecipient(to);
  const answer = await post({
    service: "WhatsApp",
    url: toUrl(options),
    headers: { authorization: `Bearer ${options.token}` },
    body: {
      messaging_product: "whatsapp",
      recipient_type: "individual",
      to,
      type: "text",
      // A preview would show what an untrusted link says of itself, and fetch it.
      text: { body: text, preview_url: false },
    },
    signal,
  });
  const messageId = findMessageId(answer);
  if (messageId === undefined) throw toDriverError(answer);
  return { messageId };
}

function toUrl({ phoneNumberId, version = "v24.0", baseUrl = "https://graph.facebook.com" }: WhatsappOptions) {
  return `${baseUrl.replace(/\/$/, "")}/${version}/${phoneNumberId}/messages`;
}

/** A 2xx of anything but the service, a proxy's sign-in page say, has no message in it. */
function findMessageId({ status, body: { messages } }: HttpAnswer): string | undefined {
  const [message]: unknown[] = status === 200 && Array.isArray(messages) ? messages : [];
  return isObject(message) && typeof message["id"] === "string" ? message["id"] : undefined;
}

/** Refusals that say nothing against the message, most of them under HTTP 400. */
const PASSING_CODES = new Set([
  1, // unknown, or the API is down for a moment
  2, // the API is down for a moment
  4, // too many calls of this app
  80_007, // too many calls of this business account
  130_429, // too many messages of this number
  131_000, // something went wrong
  131_016, // the service is overloaded
  131_056, // too many messages to this recipient
  131_057, // the account is in maintenance
  133_004, // the server is away
  133_016, // too many tries to register
]);

const CHECK_TOKEN = "Check channels.whatsapp.token.";
const CHECK_PERMISSION = "Give the token the whatsapp_business_messaging permission.";

const ADVICE = new Map([
  [0, CHECK_TOKEN],
  [3, CHECK_PERMISSION],
  [10, CHECK_PERMISSION],
  [100, "Check channels.whatsapp.phoneNumberId and the recipient."],
  [190, CHECK_TOKEN],
  [200, CHECK_PERMISSION],
  [131_021, "The recipient is the sending number itself."],
  [131_026, "The recipient cannot be reached: not on WhatsApp, or not taking messages of businesses."],
  [131_030, "Add the recipient to the allowed list of the test number."],
  [131_042, "Check the payment method of the business account."],
  [131_047, "The recipient last wrote more than 24 hours ago: free text is refused until they write again."],
  [131_048, "Too many recipients took messages of this number for spam."],
]);

/**
 * Sorts a refusal by its code, of which the status tells little.
 * https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes
 */
export function toDriverError(answer: HttpAnswer): DriverError {
  const code = findCode(answer.body["error"]);
  if (code === undefined) return toRefusal("WhatsApp", answer);
  return toRefusal("WhatsApp", answer, {
    // The service's own words stay out: those of code 190 quote the token.
    reason: `error ${code}`,
    advice: ADVICE.get(code),
    retryable: PASSING_CODES.has(code) ? true : undefined,
  });
}

function findCode(error: unknown): number | undefined {
  return isObject(error) && typeof error["code"] === "number" ? error["code"] : undefined;
}
