/**
 * A program that speaks the Agent Client Protocol. It follows the last line of the prompt (before the end of a boundary).
 * It echoes any other prompt after the session's id and number of prompts. `ACP_CAN`: resume or load; it then keeps its sessions in
 * the file `ACP_STORE`. Or image: it names pictures by type and bytes.
 */
import { existsSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import {
  agent,
  type AgentContext,
  type ContentBlock,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type StopReason,
} from "@agentclientprotocol/sdk";

interface Session {
  prompts: number;
  model: string;
  cancel: () => void;
}

const { ACP_CAN: can = "", ACP_STORE: store = "" } = process.env;
const sessions = new Map<string, Session>(existsSync(store) ? JSON.parse(readFileSync(store, "utf8")) : []);

agent({ name: "example" })
  .onRequest("initialize", ({ params }) => {
    if (params.clientCapabilities?.fs?.readTextFile || params.clientCapabilities?.terminal) process.exit(3);
    return {
      protocolVersion: Number(process.env["ACP_VERSION"] ?? PROTOCOL_VERSION),
      agentCapabilities: {
        loadSession: can === "load",
        promptCapabilities: { image: can === "image" },
        sessionCapabilities: can === "resume" ? { resume: {} } : {},
      },
    };
  })
  .onRequest("session/new", async ({ client }) => {
    const sessionId = `session-${sessions.size + 1}`;
    sessions.set(sessionId, { prompts: 0, model: "small", cancel: () => {} });
    const content = { type: "text" as const, text: "A new version is available. " };
    await client.notify("session/update", { sessionId, update: { sessionUpdate: "agent_message_chunk", content } });
    return { sessionId, configOptions: [MODELS] };
  })
  .onRequest("session/resume", ({ params: { sessionId } }) => ({ configOptions: [modelsOf(sessionId)] }))
  .onRequest("session/load", async ({ params: { sessionId }, client }) => {
    const content = { type: "text" as const, text: "Said before. " };
    await client.notify("session/update", { sessionId, update: { sessionUpdate: "agent_message_chunk", content } });
    return { configOptions: [modelsOf(sessionId)] };
  })
  .onRequest("session/set_config_option", ({ params: { sessionId, value } }) => {
    requireSession(sessionId).model = String(value);
    return { configOptions: [MODELS] };
  })
  .onRequest("session/prompt", async ({ params: { sessionId, prompt }, client }) => {
    const text = prompt.map(describe).join("");
    requireSession(sessionId).prompts += 1;
    const stopReason = await act(client, sessionId, text);
    if (store !== "") writeFileSync(store, JSON.stringify([...sessions]));
    return { stopReason };
  })
  .onNotification("session/cancel", ({ params }) => sessions.get(params.sessionId)?.cancel())
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

function describe(block: ContentBlock): string {
  if (block.type === "text") return block.text;
  return block.type === "image" ? ` [${block.mimeType} ${Buffer.from(block.data, "base64").length}]` : "";
}

const MODELS = {
  id: "model",
  name: "Model",
  category: "model",
  type: "select" as const,
  currentValue: "small",
  options: [
    { value: "small", name: "Small" },
    { value: "large", name: "Large" },
  ],
};

function modelsOf(sessionId: string): typeof MODELS {
  return { ...MODELS, currentValue: requireSession(sessionId).model };
}

async function act(client: AgentContext, sessionId: string, text: string): Promise<StopReason> {
  const session = requireSession(sessionId);
  const say = (words: string, messageId?: string): Promise<void> =>
    client.notify("session/update", {
      sessionId,
      update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: words }, messageId },
    });
  const call = (title: string): Promise<void> =>
    client.notify("session/update", { sessionId, update: { sessionUpdate: "tool_call", toolCallId: title, title } });
  const [word = "", rest = ""] = (text.split("\n").findLast((line) => !line.startsWith("<<<")) ?? "").split(/ (.*)/s);
  switch (word) {
    case "pid":
      await say(String(process.pid));
      return "end_turn";
    case "model":
      await say(session.model);
      return "end_turn";
    case "env":
      await say(JSON.stringify({ env: process.env, cwd: process.cwd() }));
      return "end_turn";
    case "die":
      return process.exit(1);
    case "complain":
      writeSync(process.stderr.fd, `${rest}\n`);
      return rest.endsWith("die") ? process.exit(1) : "end_turn";
    case "fail":
      throw new RequestError(Number(rest), `refused key ${process.env["KEY"]}`);
    case "stop":
      if (rest === "max_tokens") await say("half a");
      return rest as StopReason;
    case "work":
      await say("I'll look ");
      await say("first.");
      await call("read tests");
      await say("Now the tests.");
      await call("run tests");
      if (rest === "silent") return "end_turn";
      await say("The final ", "a");
      await say("answer.", "a");
      await say("And a word more.", "b");
      return "end_turn";
    case "flood":
      for (let chunk = 0; chunk < 20; chunk += 1) await say("x".repeat(100_000));
      return "end_turn";
    case "wait":
      if (rest) writeFileSync(rest, "here");
      return new Promise((resolve) => (session.cancel = () => resolve("cancelled")));
    case "deaf":
      if (rest) writeFileSync(rest, "here");
      return new Promise(() => {});
    case "usage": {
      const [used = 0, amount] = rest.split(" ").map(Number);
      const cost = amount === undefined ? undefined : { amount, currency: "USD" };
      await client.notify("session/update", {
        sessionId,
        update: { sessionUpdate: "usage_update", used, size: 200_000, cost },
      });
      await say("counted");
      return "end_turn";
    }
    case "permission": {
      const { outcome } = await client.request("session/request_permission", {
        sessionId,
        toolCall: { toolCallId: "call-1", title: "rm -rf" },
        options: [
          { optionId: "yes", name: "Allow", kind: "allow_once" },
          ...(rest.startsWith("reject") ? [{ optionId: "no", name: "Reject", kind: "reject_once" } as const] : []),
        ],
      });
      if (rest !== "silent") await say(JSON.stringify(outcome));
      return "end_turn";
    }
    default:
      await say(`${sessionId} ${session.prompts}: `);
      await say(text);
      return "end_turn";
  }
}

function requireSession(sessionId: string): Session {
  const session = sessions.get(sessionId);
  if (!session) throw RequestError.invalidParams();
  return session;
}
