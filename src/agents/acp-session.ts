import type { ActiveSession, ClientContext, ContentBlock, StopReason } from "@agentclientprotocol/sdk";
import { setImmediate as afterInput } from "node:timers/promises";
import { DriverError } from "../core/errors.ts";
import type { AgentReply, AgentTurn } from "../core/ports/agent.ts";
import { createTranscript, type Transcript } from "./acp-transcript.ts";

/** One conversation with an agent. It takes one turn at a time. */
export interface AcpSession {
  /** Sends the turn's message, in a new session after the history, and resolves to the agent's answer. */
  ask(turn: AgentTurn & { model: string }): Promise<AcpAnswer>;
  cancel(): void;
  /** Cancels, and ignores what the agent still sends. */
  close(): void;
}

export interface AcpAnswer extends Pick<AgentReply, "text" | "notes" | "usage" | "cost"> {
  stopReason: StopReason;
  warnings: string[];
}

export interface AcpAgent {
  context: ClientContext;
  /** Titles of refused requests for a permission, by the id of the session. */
  refusals: Map<string, string[]>;
}

/** `cwd`: absolute path of the session's folder. */
export async function openAcpSession({ context: agent, refusals }: AcpAgent, cwd: string): Promise<AcpSession> {
  const session = await agent.buildSession(cwd).start();
  let totalCost = 0;
  let isNew = true;
  let chosenModel = "default";
  const updates = readUpdates(session);
  return {
    async ask({ history, message, model }) {
      const warnings = model === chosenModel && model === "default" ? [] : await chooseModel(agent, session, model);
      chosenModel = model;
      const prompt = toPrompt(message, isNew ? history : []);
      isNew = false;
      refusals.delete(session.sessionId);
      await updates.drop();
      const [{ stopReason }, { tokens, total, ...said }] = await Promise.all([
        session.prompt(prompt),
        updates.collect(),
      ]);
      const refused = refusals.get(session.sessionId) ?? [];
      requireWords(said.text, refused);
      return {
        ...said,
        stopReason,
        warnings: [...warnings, ...warnOfRefusals(refused)],
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

/** The work needed the permission, so another attempt would end in the same way. */
function requireWords(text: string, refused: string[]): void {
  if (text.trim() !== "" || refused.length === 0) return;
  throw new DriverError(`The agent replied nothing after a permission was refused: ${listRefused(refused)}.`, {
    retryable: false,
  });
}

function warnOfRefusals(refused: string[]): string[] {
  if (refused.length === 0) return [];
  const times = refused.length === 1 ? "once" : `${refused.length} times`;
  return [`The agent asked for a permission ${times}, which was refused: ${listRefused(refused)}.`];
}

const MAX_SHOWN = 5;

function listRefused(refused: string[]): string {
  const shown = [...new Set(refused)].slice(0, MAX_SHOWN);
  return shown.join("; ");
}

interface Updates {
  /** Leaves out what has come since the last answer, or since the session began. */
  drop(): Promise<void>;
  /** Reads up to the end of the prompt's answer. */
  collect(): Promise<ReturnType<Transcript["finish"]>>;
}

function readUpdates(session: ActiveSession): Updates {
  type Update = Awaited<ReturnType<ActiveSession["nextUpdate"]>>;
  let asked: Promise<Update> | undefined;
  const next = (): Promise<Update> => {
    const update = asked ?? session.nextUpdate();
    asked = undefined;
    return update;
  };
  return {
    async drop() {
      for (;;) {
        const update = next();
        const hasCome = await Promise.race([update.then(() => true), afterInput(false)]);
        if (hasCome) continue;
        asked = update;
        // The caller that collects it sees the error.
        update.catch(() => {});
        return;
      }
    },
    async collect() {
      const transcript = createTranscript();
      for (;;) {
        const message = await next();
        if (message.kind === "stop") return transcript.finish();
        transcript.take(message.update);
      }
    },
  };
}
