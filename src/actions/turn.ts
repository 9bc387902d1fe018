import type { AgentDriver, AgentReply, AgentTurn, HistoryEntry } from "../agents/driver.ts";
import type { ResolvedConfig } from "../config/types.ts";
import { DriverError } from "../errors.ts";
import type { NewEntry, TurnOutcome } from "../journal/journal.ts";
import { within } from "../shared/async.ts";

/** What a turn runs with, as it stands when the turn starts. */
export interface TurnContext {
  agent: AgentDriver;
  settings: ResolvedConfig["agents"];
  /** The session's earlier turns, oldest first. */
  history: HistoryEntry[];
  /** Aborts when the service stops. */
  signal: AbortSignal;
}

export interface TurnRequest extends Pick<AgentTurn, "kind" | "runId" | "sessionKey" | "message"> {
  eventId?: string;
  /** Absent: the configured default. */
  model?: string;
  thinking?: string;
  timeoutSeconds: number;
}

/** Takes one turn; its outcome holds the two entries that the session keeps of it. Rejects as `ask` does. */
export async function takeTurn(request: TurnRequest, context: TurnContext): Promise<Omit<TurnOutcome, "deliveries">> {
  const { runId, sessionKey, eventId, message } = request;
  const asked: NewEntry = { sessionKey, role: "user", text: message, at: Date.now(), eventId, runId };
  const { text, model, usage, warnings } = await ask(context.agent, toAgentTurn(request, context), {
    timeoutSeconds: request.timeoutSeconds,
    signal: context.signal,
  });
  const finishedAt = Date.now();
  const answered: NewEntry = { sessionKey, role: "assistant", text, at: finishedAt, eventId, runId };
  return { finishedAt, reply: text, model, usage, warnings: warnings ?? [], entries: [asked, answered] };
}

function toAgentTurn(request: TurnRequest, { settings, history }: TurnContext): AgentTurn {
  return {
    runId: request.runId,
    sessionKey: request.sessionKey,
    kind: request.kind,
    message: request.message,
    history,
    model: request.model ?? settings.model,
    thinking: request.thinking ?? settings.thinking,
    timeoutSeconds: request.timeoutSeconds,
    ack: settings.heartbeat.ack,
  };
}

/** The turn exceeded its timeout. Not retryable: another attempt would cost as much and end the same way. */
export class TurnTimeout extends DriverError {
  override name = "TurnTimeout";

  constructor(seconds: number) {
    super(`timed out after ${seconds} s`, { retryable: false });
  }
}

/** Asks the agent for one turn. Rejects with the driver's error, a `TurnTimeout`, or the signal's reason. */
function ask(
  agent: AgentDriver,
  turn: AgentTurn,
  { timeoutSeconds, signal }: { timeoutSeconds: number; signal: AbortSignal },
): Promise<AgentReply> {
  return within((ended) => agent.run(turn, ended), {
    timeoutMs: timeoutSeconds * 1000,
    toTimeout: () => new TurnTimeout(timeoutSeconds),
    signal,
  });
}
