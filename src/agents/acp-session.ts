import type { ActiveSession, ClientContext, ContentBlock, StopReason } from "@agentclientprotocol/sdk";
import { DriverError } from "../core/errors.ts";
import type { AgentReply, AgentTurn } from "../core/ports/agent.ts";

/** One conversation with an agent. It takes one turn at a time. */
export interface AcpSession {
  /** Sends the turn's message, in a new session after the history, and resolves to the agent's answer. */
  ask(turn: AgentTurn & { model: string }): Promise<AcpAnswer>;
  cancel(): void;
  /** Cancels, and ignores what the agent still sends. */
  close(): void;
}

export interface AcpAnswer extends Pick<AgentReply, "text" | "usage" | "cost"> {
  stopReason: StopReason;
  warnings: string[];
}

/** In UTF-16 code units. */
const MAX_REPLY_LENGTH = 1024 * 1024;

export interface AcpAgent {
  context: ClientContext;
  /** How many requests for a permission were refused, by the id of the session. */
  refusals: Map<string, number>;
}

/** `cwd`: absolute path of the session's folder. */
export async function openAcpSession({ context: agent, refusals }: AcpAgent, cwd: string): Promise<AcpSession> {
  const session = await agent.buildSession(cwd).start();
  let totalCost = 0;
  let isNew = true;
  let chosenModel = "default";
  return {
    async ask({ history, message, model }) {
      const warnings = model === chosenModel && model === "default" ? [] : await chooseModel(agent, session, model);
      chosenModel = model;
      const prompt = toPrompt(message, isNew ? history : []);
      isNew = false;
      refusals.delete(session.sessionId);
      const [{ stopReason }, { text, tokens, total }] = await Promise.all([session.prompt(prompt), collect(session)]);
      return {
        text,
        stopReason,
        warnings: [...warnings, ...warnOfRefusals(refusals.get(session.sessionId))],
        ...(tokens !== undefined && { usage: { inputTokens: tokens } }),
        ...(total !== undefined && { cost: addCost(total) }),
      };
    },
    cancel,
    close() {
      cancel();
      refusals.delete(session.sessionId);
      session.dispose();
    },
  };

  /** The agent tells the cost of the whole session; one that begins anew counts from 0 again. */
  function addCost(total: number): number {
    const cost = total >= totalCost ? total - totalCost : total;
    totalCost = total;
    return cost;
  }

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

function warnOfRefusals(count = 0): string[] {
  if (count === 0) return [];
  return [`The agent asked for a permission ${count === 1 ? "once" : `${count} times`}, which was refused.`];
}

interface Collected {
  text: string;
  /** In the agent's context, as it said last. */
  tokens?: number;
  /** The cost of the session so far. */
  total?: number;
}

async function collect(session: ActiveSession): Promise<Collected> {
  const collected: Collected = { text: "" };
  for (;;) {
    const message = await session.nextUpdate();
    if (message.kind === "stop") return collected;
    const { update } = message;
    if (update.sessionUpdate === "usage_update") {
      collected.tokens = toAmount(update.used) ?? collected.tokens;
      collected.total = toAmount(update.cost?.amount) ?? collected.total;
    }
    if (update.sessionUpdate !== "agent_message_chunk" || update.content.type !== "text") continue;
    collected.text += update.content.text;
    if (collected.text.length > MAX_REPLY_LENGTH) {
      throw new DriverError(`The agent wrote more than ${MAX_REPLY_LENGTH} characters and was stopped.`, {
        retryable: false,
      });
    }
  }
}

/** A number that can be added up. */
function toAmount(value: number | undefined): number | undefined {
  return value !== undefined && Number.isFinite(value) && value >= 0 ? value : undefined;
}
