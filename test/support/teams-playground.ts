import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface TeamsPlayground {
  /** For `channels.msteams.baseUrl`. It accepts any token. */
  baseUrl: string;
  /** Id of the conversation with one person. */
  conversation: string;
  /** The bot's messages in the conversation's window, oldest first. */
  messages(): Promise<string[]>;
  close(): Promise<void>;
}

const CONVERSATION = "a:hookline";

/** Nothing listens here, since the bot only sends. */
const BOT = "http://127.0.0.1:9/api/messages";

/** Starts Microsoft's Agents Playground, a local substitute for Teams, on a free port and without a browser. */
export async function startTeamsPlayground(): Promise<TeamsPlayground> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-playground-"));
  const program = fileURLToPath(import.meta.resolve("@microsoft/m365agentsplayground/cli.js"));
  const options = ["--port", "0", "--channel-id", "msteams", "--conversation-id", CONVERSATION];
  const child = spawn(process.execPath, [program, "start", ...options, "--app-endpoint", BOT, "--disable-telemetry"], {
    cwd: folder,
    env: { ...process.env, TEAMSAPPTESTER_BROWSER: "none" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const port = await findPort(createInterface({ input: child.stdout }));
  const baseUrl = `http://127.0.0.1:${port}/_connector`;
  const window = await openWindow(`ws://127.0.0.1:${port}/_ws_conversation/v1/conversations/stream`);
  return {
    baseUrl,
    conversation: CONVERSATION,
    messages: () => readWindow(window, baseUrl),
    async close() {
      window.socket.close();
      child.kill();
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

async function findPort(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) {
    const port = /^Listening on (\d+)$/.exec(line)?.[1];
    if (port) return port;
  }
  throw new Error("The playground did not start.");
}

/** The messages that a browser would show. */
interface ChatWindow {
  socket: WebSocket;
  shown: string[];
}

async function openWindow(url: string): Promise<ChatWindow> {
  const socket = new WebSocket(url);
  const shown: string[] = [];
  socket.addEventListener("message", ({ data }) => {
    const { action, message } = JSON.parse(String(data));
    if (action === "createMessage") shown.push(message.text);
  });
  await once(socket, "open");
  return { socket, shown };
}

const MARK = "That is all.";

/** Messages are shown in order: once a marker has arrived, so have all messages before it. */
async function readWindow({ socket, shown }: ChatWindow, baseUrl: string): Promise<string[]> {
  const marks = shown.filter((text) => text === MARK).length;
  await fetch(`${baseUrl}/v3/conversations/${encodeURIComponent(CONVERSATION)}/activities`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ type: "message", text: MARK }),
  });
  while (shown.filter((text) => text === MARK).length === marks) await once(socket, "message");
  return shown.filter((text) => text !== MARK);
}
