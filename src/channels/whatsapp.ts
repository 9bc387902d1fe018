import { isObject } from "../config/is-object.ts";
import { DriverError } from "../errors.ts";
import { post, type HttpAnswer } from "./http.ts";
import type { ChannelDriver, OutgoingMessage } from "./port.ts";
import { toDriverError } from "./whatsapp-errors.ts";

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
  throw new DriverError("lasting", "Expected a phone number with its country code such as +15551234567.");
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

function toUrl({
  phoneNumberId,
  version = "v24.0",
  baseUrl = "https://graph.facebook.com",
}: WhatsappOptions) {
  return `${baseUrl.replace(/\/$/, "")}/${version}/${phoneNumberId}/messages`;
}

/** A 2xx of anything but the service, a proxy's sign-in page say, has no message in it. */
function findMessageId({ status, body: { messages } }: HttpAnswer): string | undefined {
  const [message]: unknown[] = status === 200 && Array.isArray(messages) ? messages : [];
  return isObject(message) && typeof message["id"] === "string" ? message["id"] : undefined;
}
