import type { ActiveSession, ClientContext, ContentBlock, StopReason } from "@agentclientprotocol/sdk";
import { DriverError } from "../errors.ts";
import type { AgentTurn } from "./driver.ts";

/** One conversation with an agent. It takes one turn at a time. */
export interface AcpSession {
  /** Sends the turn's message, in a new session after the history, and resolves to the agent's answer. */
  ask(turn: AgentTurn & { model: string }): Promise<AcpAnswer>;
  /** Asks the agent to stop the current turn. */
  cancel(): void;
  /** Cancels, and ignores what the agent still sends. */
  close(): void;
}

export interface AcpAnswer {
  text: string;
  stopReason: StopReason;
  warnings: string[];
}

/** In UTF-16 code units. */
const MAX_REPLY_LENGTH = 1024 * 1024;

/** `cwd`: absolute path of the session's folder. */
export async function openAcpSession(agent: ClientContext, cwd: string): Promise<AcpSession> {
  const session = await agent.buildSession(cwd).start();
  let isNew = true;
  let chosenModel = "default";
  return {
    async ask({ history, message, model }) {
      const warnings = model === chosenModel && model === "default" ? [] : await chooseModel(agent, session, model);
      chosenModel = model;
      const prompt = toPrompt(message, isNew ? history : []);
      isNew = false;
      const [{ stopReason }, text] = await Promise.all([session.prompt(prompt), collectText(session)]);
      return { text, stopReason, warnings };
    },
    cancel,
    close() {
      cancel();
      session.dispose();
    },
  };

  function cancel(): void {
    // A program that has ended needs no cancellation.
    agent.notify("session/cancel", { sessionId: session.sessionId }).catch(() => {});
  }
}

/** The history is sent as JSON, so that no text in it can pass for another turn. */
function toPrompt(message: string, history: AgentTurn["history"]): ContentBlock[] {
  const prompt: ContentBlock = { type: "text", text: message };
  if (history.length === 0) return [prompt];
  const earlier = `Earlier turns of this session, oldest first:\n${JSON.stringify(history)}\n\n`;
  return [{ type: "text", text: earlier }, prompt];
}

/** `default` is the model that the session started with. Returns a warning when the agent does not offer the model. */
async function chooseModel(agent: ClientContext, session: ActiveSession, model: string): Promise<string[]> {
  const { sessionId, newSessionResponse } = session;
  for (const option of newSessionResponse.configOptions ?? []) {
    if (option.category !== "model" || option.type !== "select") continue;
    const value = model === "default" ? option.currentValue : model;
    const offered = option.options.flatMap((entry) => ("group" in entry ? entry.options : [entry]));
    if (!offered.some((choice) => choice.value === value)) continue;
    await agent.request("session/set_config_option", { sessionId, configId: option.id, value });
    return [];
  }
  return model === "default" ? [] : [`The agent does not offer the model "${model}" and answered with its own choice.`];
}

async function collectText(session: ActiveSession): Promise<string> {
  let text = "";
  for (;;) {
    const message = await session.nextUpdate();
    if (message.kind === "stop") return text;
    const { update } = message;
    if (update.sessionUpdate !== "agent_message_chunk" || update.content.type !== "text") continue;
    text += update.content.text;
    if (text.length > MAX_REPLY_LENGTH) {
      throw new DriverError(`The agent wrote more than ${MAX_REPLY_LENGTH} characters and was stopped.`, {
        retryable: false,
      });
    }
  }
}
