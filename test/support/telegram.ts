import { once } from "node:events";
import { createServer } from "node:net";
import { TelegramServer } from "telegram-test-api/lib/telegramServer.js";

export interface TelegramEmulator {
  /** For `channels.telegram.baseUrl`. */
  baseUrl: string;
  token: string;
  /** Id of a chat. The emulator accepts messages to any chat. */
  chat: string;
  /** The bot's messages to the chat, oldest first. */
  messages(): string[];
  /** The same as the bot has sent them. */
  sent(): Record<string, unknown>[];
  close(): Promise<void>;
}

const TOKEN = "123456789:telegram-test-token";
const CHAT = "-1001234567890";

/** Starts the Bot API of `telegram-test-api` on a free loopback port. */
export async function startTelegram(): Promise<TelegramEmulator> {
  const server = await startServer();
  const sent = () =>
    server.storage.botMessages
      .filter(({ botToken, message }) => botToken === TOKEN && String(message.chat_id) === CHAT)
      .map(({ message, messageId }) => ({ ...message, message_id: messageId }));
  return {
    baseUrl: server.config.apiURL,
    token: TOKEN,
    chat: CHAT,
    messages: () => sent().map(({ text }) => text),
    sent: () => sent().map((message) => ({ ...message })),
    close: async () => void (await server.stop()),
  };
}

/** The emulator cannot choose a free port itself, and a free port may be in use when it starts. */
async function startServer(): Promise<TelegramServer> {
  const server = new TelegramServer({ host: "127.0.0.1", port: await freePort() });
  try {
    await server.start();
    return server;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") return startServer();
    throw error;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  server.close();
  await once(server, "close");
  return address.port;
}
