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
  /** The id of a message that people wrote, and the ids that the messages above answer. */
  question: string;
  answered(): unknown[];
  /** The same as Discord stores them. */
  sent(): Record<string, unknown>[];
  /** The texts in a thread, and the names of all threads by their ids. */
  inThread(id: string): string[];
  threads: Map<string, string>;
  /** How often a typing notice was shown. */
  typingCount(): number;
  close(): Promise<void>;
}

interface Message {
  id: string;
  channel: string;
  content: string;
  components?: unknown;
  nonce: unknown;
  message_reference?: { message_id?: unknown };
}

interface State {
  messages: Message[];
  /** The names of threads, by their ids. */
  threads: Map<string, string>;
  typing: number;
}

const TOKEN = "discord-test-token-0000";
const CHANNEL = "175928847299117063";
const QUESTION = "334384849860000999";

/**
 * A double of Discord's API, written from its documentation, "Create Message", "Edit Message", "Start Thread from
 * Message" and "Trigger Typing Indicator":
 * https://docs.discord.com/developers/resources/message#create-message. It was not compared with Discord itself. The driver's
 * request was validated with Prism 5.16 against the OpenAPI file that Discord publishes.
 */
export async function startDiscord(): Promise<DiscordServer> {
  const state: State = { messages: [], threads: new Map(), typing: 0 };
  const { messages, threads } = state;
  const server = await startJsonServer((request) => answer(state, request));
  return {
    baseUrl: `${server.url}api`,
    token: TOKEN,
    channel: CHANNEL,
    messages: () => messages.map(({ content }) => content),
    question: QUESTION,
    answered: () => messages.map(({ message_reference: reference }) => reference?.message_id),
    sent: () => messages.map((message) => ({ ...message })),
    inThread: (id) => messages.filter(({ channel }) => channel === id).map(({ content }) => content),
    threads,
    typingCount: () => state.typing,
    close: () => server.close(),
  };
}

/** An error in the API's format. */
export function discordError(status: number, code: number, message: string): JsonAnswer {
  return { status, body: { message, code } };
}

function answer(state: State, { method, path, headers, body }: JsonRequest): JsonAnswer {
  if (headers.authorization !== `Bot ${TOKEN}`) return discordError(401, 0, "401: Unauthorized");
  const [, opened] = /^\/api\/v10\/channels\/\d+\/messages\/(\d+)\/threads$/.exec(path ?? "") ?? [];
  if (opened && method === "POST") return openThread(state, opened, body);
  const [, channel, part, id] = /^\/api\/v10\/channels\/(\d+)\/(messages|typing)(?:\/(\d+))?$/.exec(path ?? "") ?? [];
  if (channel === CHANNEL && method === "DELETE" && id) return deleteMessage(state.messages, id);
  if (method !== (id ? "PATCH" : "POST") || channel === undefined) return discordError(404, 0, "404: Not Found");
  if (channel !== CHANNEL && !state.threads.has(channel)) return discordError(404, 10_003, "Unknown Channel");
  if (part === "typing") {
    state.typing += 1;
    return { status: 204, body: undefined };
  }
  return id ? editMessage(state.messages, id, body) : createMessage(state.messages, channel, body);
}

/** The thread of a message has its id. */
function openThread({ messages, threads }: State, id: string, { name }: JsonRequest["body"]): JsonAnswer {
  if (!messages.some((message) => message.id === id)) return discordError(404, 10_008, "Unknown Message");
  if (threads.has(id)) return discordError(400, 160_004, "A thread has already been created for this message");
  if (typeof name !== "string" || name === "" || name.length > 100) {
    return invalid("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.");
  }
  threads.set(id, name);
  return { status: 201, body: { id, name, type: 11, parent_id: CHANNEL } };
}

function deleteMessage(messages: Message[], id: string): JsonAnswer {
  const at = messages.findIndex((message) => message.id === id);
  if (at === -1) return discordError(404, 10_008, "Unknown Message");
  messages.splice(at, 1);
  return { status: 204, body: undefined };
}

function editMessage(messages: Message[], id: string, { content, components }: JsonRequest["body"]): JsonAnswer {
  const message = messages.find((other) => other.id === id);
  if (!message) return discordError(404, 10_008, "Unknown Message");
  message.content = String(content);
  if (components !== undefined) message.components = components;
  return { status: 200, body: message };
}

function createMessage(
  messages: Message[],
  channel: string,
  { content, components, nonce, enforce_nonce, message_reference }: JsonRequest["body"],
): JsonAnswer {
  if (typeof content !== "string" || content === "" || Array.from(content).length > 2000) {
    return invalid("content", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 2000 in length.");
  }
  if (typeof nonce !== "string" || nonce.length > 25) {
    return invalid("nonce", "NONCE_TYPE_TOO_LONG", "Must be 25 or fewer in length.");
  }
  const repeated = enforce_nonce ? messages.find((other) => other.nonce === nonce) : undefined;
  const reference = message_reference as Message["message_reference"];
  const message = repeated ?? {
    id: `3343848498600${String(messages.length).padStart(5, "0")}`,
    channel,
    content,
    components,
    nonce,
    message_reference: reference,
  };
  if (!repeated) messages.push(message);
  return { status: 200, body: message };
}

function invalid(field: string, code: string, message: string): JsonAnswer {
  const errors = { [field]: { _errors: [{ code, message }] } };
  return { status: 400, body: { code: 50_035, message: "Invalid Form Body", errors } };
}
