import { createEmulator } from "emulate";

export interface SlackServer {
  /** For `channels.slack.baseUrl`. */
  baseUrl: string;
  /** A bot token that may post. */
  token: string;
  /** Id of a channel that exists. */
  channel: string;
  /** The messages in the channel as Slack stores them, oldest first. */
  messages(channel?: string): Promise<string[]>;
  /** The same as Slack stores them. */
  sent(): Promise<Record<string, unknown>[]>;
  /** The timestamp of the first message in the channel whose text this is about. */
  find(matches: (text: string) => boolean): Promise<string | undefined>;
  /** Posts to the channel, and gives the message's timestamp. */
  post(text: string): Promise<string>;
  /** The texts of a thread, its first message included, as Slack stores them. */
  thread(ts: string): Promise<string[]>;
  /** The reactions to a message. */
  reactions(ts: string): Promise<string[]>;
  close(): Promise<void>;
}

const TOKEN = "xoxb-000000000000-test";
const CHANNEL_NAME = "hooks";

/** Starts the Slack of `emulate` on a free loopback port, with one channel. */
export async function startSlack(): Promise<SlackServer> {
  const emulator = await createEmulator({
    service: "slack",
    port: 0,
    seed: {
      tokens: {
        [TOKEN]: {
          login: "admin",
          scopes: ["chat:write", "channels:read", "channels:history", "reactions:write", "reactions:read"],
        },
      },
      slack: { channels: [{ name: CHANNEL_NAME }] },
    },
  });
  const baseUrl = `http://127.0.0.1:${new URL(emulator.url).port}/api/`;
  const channel = await findChannel(baseUrl);
  return {
    baseUrl,
    token: TOKEN,
    channel,
    messages: async (id = channel) => (await readMessages(baseUrl, id)).map(({ text }) => text),
    sent: async () => (await readMessages(baseUrl, channel)).map((message) => ({ ...message })),
    find: async (matches) => (await readMessages(baseUrl, channel)).find(({ text }) => matches(text))?.ts,
    post: async (text) => (await call<{ ts: string }>(baseUrl, "chat.postMessage", { channel, text })).ts,
    async thread(ts) {
      const { messages } = await call<{ messages: { text: string }[] }>(baseUrl, "conversations.replies", {
        channel,
        ts,
      });
      return messages.map(({ text }) => text);
    },
    async reactions(timestamp) {
      const answer = await call<{ message: { reactions?: { name: string }[] } }>(baseUrl, "reactions.get", {
        channel,
        timestamp,
      });
      return answer.message.reactions?.map(({ name }) => name) ?? [];
    },
    close: () => emulator.close(),
  };
}

async function findChannel(baseUrl: string): Promise<string> {
  const { channels } = await call<{ channels: { id: string; name: string }[] }>(baseUrl, "conversations.list");
  const found = channels.find(({ name }) => name === CHANNEL_NAME);
  if (!found) throw new Error(`The emulator has no channel ${CHANNEL_NAME}.`);
  return found.id;
}

async function readMessages(baseUrl: string, channel: string): Promise<{ text: string; ts: string }[]> {
  const { messages } = await call<{ messages: { text: string; ts: string }[] }>(baseUrl, "conversations.history", {
    channel,
    limit: "999",
  });
  return messages.toReversed();
}

async function call<Answer>(baseUrl: string, method: string, fields: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(`${baseUrl}${method}`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}` },
    body: new URLSearchParams(fields),
  });
  const answer: Answer = JSON.parse(await response.text());
  return answer;
}
