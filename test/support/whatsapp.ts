import { type JsonAnswer, type JsonRequest, startJsonServer } from "./json-server.ts";

export interface WhatsappServer {
  /** For `channels.whatsapp.baseUrl`. */
  baseUrl: string;
  /** A token that may send. */
  token: string;
  phoneNumberId: string;
  /** A number that accepts messages. */
  recipient: string;
  /** The messages to the recipient, oldest first. */
  messages(): string[];
  /** The ids of the messages that those above answer. */
  contexts(): unknown[];
  close(): Promise<void>;
}

const TOKEN = "EAAwhatsapptesttoken";
const PHONE_NUMBER_ID = "106540352242922";
const RECIPIENT = "15551234567";

/**
 * A double of the Cloud API, written from its reference: the messages endpoint,
 * https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/text-messages, and its error codes,
 * https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes. It was not compared with Meta's own service.
 */
export async function startWhatsapp(): Promise<WhatsappServer> {
  const messages: string[] = [];
  const contexts: unknown[] = [];
  const server = await startJsonServer((request) => answer({ messages, contexts }, request));
  return {
    baseUrl: server.url,
    token: TOKEN,
    phoneNumberId: PHONE_NUMBER_ID,
    recipient: `+${RECIPIENT}`,
    messages: () => [...messages],
    contexts: () => [...contexts],
    close: () => server.close(),
  };
}

/** An error in the Graph API's format. */
export function whatsappError(status: number, code: number, message: string): JsonAnswer {
  const details = { messaging_product: "whatsapp", details: message };
  return {
    status,
    body: {
      error: { message, type: "OAuthException", code, error_data: details, fbtrace_id: "Az8or2yhqkZfEZ" },
    },
  };
}

interface State {
  messages: string[];
  contexts: unknown[];
}

function answer(state: State, { method, path, headers, body }: JsonRequest): JsonAnswer {
  if (headers.authorization !== `Bearer ${TOKEN}`) {
    return whatsappError(401, 190, `Malformed access token ${headers.authorization?.slice("Bearer ".length)}`);
  }
  if (method !== "POST" || !new RegExp(`^/v\\d+\\.\\d/${PHONE_NUMBER_ID}/messages$`).test(path ?? "")) {
    return whatsappError(400, 100, "Unsupported post request.");
  }
  return takeMessage(state, body);
}

function takeMessage({ messages, contexts }: State, body: Record<string, unknown>): JsonAnswer {
  const { messaging_product: product, type, text, to } = body;
  const said = (text as { body?: unknown } | undefined)?.body;
  if (product !== "whatsapp" || type !== "text" || typeof said !== "string" || said.length > 4096) {
    return whatsappError(400, 100, "(#100) Invalid parameter");
  }
  const id = String(to).replace("+", "");
  if (id !== RECIPIENT) return whatsappError(400, 131_026, "(#131026) Message undeliverable");
  messages.push(said);
  contexts.push((body["context"] as { message_id?: unknown } | undefined)?.message_id);
  return {
    status: 200,
    body: {
      messaging_product: "whatsapp",
      contacts: [{ input: to, wa_id: id }],
      messages: [{ id: `wamid.test${messages.length}` }],
    },
  };
}
