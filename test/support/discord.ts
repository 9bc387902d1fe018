import { startJsonServer, type JsonAnswer, type JsonRequest } from "./json-server.ts";

export interface DiscordServer {
  /** For `channels.discord.baseUrl`. */
  baseUrl: string;
  /** A bot token that may post. */
  token: string;
  /** Id of a channel that the bot may post in. */
  channel: string;
  /** The messages posted to the channel, oldest first. */
  messages(): string[];
  close(): Promise<void>;
}

interface Message {
  id: string;
  content: string;
  nonce: unknown;
}

const TOKEN = "discord-test-token-0000";
const CHANNEL = "175928847299117063";

/**
 * A double of Discord's API, written from its documentation, "Create Message":
 * https://docs.discord.com/developers/resources/message#create-message. It was not compared with Discord itself. The driver's
 * request was validated with Prism 5.16 against the OpenAPI file that Discord publishes.
 */
export async function startDiscord(): Promise<DiscordServer> {
  const messages: Message[] = [];
  const server = await startJsonServer((request) => answer(messages, request));
  return {
    baseUrl: `${server.url}api`,
    token: TOKEN,
    channel: CHANNEL,
    messages: () => messages.map(({ content }) => content),
    close: () => server.close(),
  };
}

/** An error in the API's format. */
export function discordError(status: number, code: number, message: string): JsonAnswer {
  return { status, body: { message, code } };
}

function answer(messages: Message[], { method, path, headers, body }: JsonRequest): JsonAnswer {
  if (headers.authorization !== `Bot ${TOKEN}`) return discordError(401, 0, "401: Unauthorized");
  const [, channel] = /^\/api\/v10\/channels\/(\d+)\/messages$/.exec(path ?? "") ?? [];
  if (method !== "POST" || channel === undefined) return discordError(404, 0, "404: Not Found");
  if (channel !== CHANNEL) return discordError(404, 10_003, "Unknown Channel");
  return createMessage(messages, body);
}

function createMessage(messages: Message[], { content, nonce, enforce_nonce }: JsonRequest["body"]): JsonAnswer {
  if (typeof content !== "string" || content === "" || Array.from(content).length > 2000) {
    return invalid("content", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 2000 in length.");
  }
  if (typeof nonce !== "string" || nonce.length > 25) {
    return invalid("nonce", "NONCE_TYPE_TOO_LONG", "Must be 25 or fewer in length.");
  }
  const repeated = enforce_nonce ? messages.find((other) => other.nonce === nonce) : undefined;
  const message = repeated ?? { id: `33438484986000${messages.length}`, content, nonce };
  if (!repeated) messages.push(message);
  return { status: 200, body: message };
}

function invalid(field: string, code: string, message: string): JsonAnswer {
  const errors = { [field]: { _errors: [{ code, message }] } };
  return { status: 400, body: { code: 50_035, message: "Invalid Form Body", errors } };
}
