import type { ActiveSession, ClientContext, ContentBlock, StopReason } from "@agentclientprotocol/sdk";
import { DriverError } from "../../errors.ts";
import type { AgentTurn } from "../driver.ts";

/** One conversation with an agent of the Agent Client Protocol. One turn at a time. */
export interface AcpSession {
  /** Sends the turn's message, in a new session behind the history, and resolves with what the agent says. */
  ask(turn: AgentTurn, model: string): Promise<AcpAnswer>;
  /** Asks the agent to leave off. */
  cancel(): void;
  /** Leaves off, and takes nothing more from it. */
  drop(): void;
}

export interface AcpAnswer {
  text: string;
  stopReason: StopReason;
  warnings: string[];
}

/** More is no reply, in UTF-16 code units: an agent has run wild. */
const MAX_LENGTH = 1024 * 1024;

/** Opens a session in the folder `cwd`, absolute. */
export async function openAcpSession(agent: ClientContext, cwd: string): Promise<AcpSession> {
  const session = await agent.buildSession(cwd).start();
  const cancel = (): void => {
    // an agent that has gone needs no telling
    agent.notify("session/cancel", { sessionId: session.sessionId }).catch(() => {});
  };
  let isNew = true;
  let chosen = "default";
  return {
    async ask(turn, model) {
      const warnings = model === "default" && chosen === model ? [] : await chooseModel(agent, session, model);
      chosen = model;
      const prompt = toPrompt(turn, isNew);
      isNew = false;
      const [{ stopReason }, text] = await Promise.all([session.prompt(prompt), collect(session)]);
      return { text, stopReason, warnings };
    },
    cancel,
    drop() {
      cancel();
      session.dispose();
    },
  };
}

function toPrompt({ history, message }: AgentTurn, isNew: boolean): ContentBlock[] {
  const now: ContentBlock = { type: "text", text: message };
  if (!isNew || history.length === 0) return [now];
  // as JSON, so that no text in it can pass for another turn
  const earlier = `Earlier turns of this session, oldest first:\n${JSON.stringify(history)}\n\n`;
  return [{ type: "text", text: earlier }, now];
}

/** `default` is what the agent began with. Gives a sentence where the agent has no such model to choose. */
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
  return model === "default" ? [] : [`The agent offers no model "${model}" to choose: its own choice answered.`];
}

async function collect(session: ActiveSession): Promise<string> {
  let text = "";
  for (;;) {
    const message = await session.nextUpdate();
    if (message.kind === "stop") return text;
    const { update } = message;
    if (update.sessionUpdate !== "agent_message_chunk" || update.content.type !== "text") continue;
    text += update.content.text;
    if (text.length > MAX_LENGTH) {
      throw new DriverError(`The agent wrote more than ${MAX_LENGTH} characters and was stopped.`, {
        retryable: false,
      });
    }
  }
}
