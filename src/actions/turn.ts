import type { AgentDriver, AgentTurn, HistoryEntry } from "../agents/driver.ts";
import type { ResolvedConfig } from "../config/types.ts";
import { type Bounded, toPrompt } from "../boundary/boundary.ts";
import { DriverError } from "../errors.ts";
import type { NewEntry, Run, TurnOutcome } from "../journal/journal.ts";
import { resolveTurnSettings, type TurnSettings } from "../mapping/policy.ts";
import { withTimeout } from "../shared/async.ts";
import { inSpan } from "../telemetry/traces.ts";

/** What a turn runs with, read when the turn starts. */
export interface TurnContext {
  agent: AgentDriver;
  settings: ResolvedConfig["agents"];
  /** The session's earlier turns, oldest first. */
  history: HistoryEntry[];
  /** Aborts when the service stops. */
  signal: AbortSignal;
}

export interface TurnRequest extends Pick<AgentTurn, "kind" | "runId" | "sessionKey">, Partial<TurnSettings> {
  message: Bounded;
  eventId?: string;
}

export type TurnResult = Omit<TurnOutcome, "deliveries">;

/**
 * Runs one turn of the agent; the result holds the two entries that the session keeps. Rejects with the driver's error,
 * a `TurnTimeout`, or the signal's reason.
 */
export async function runAgentTurn(request: TurnRequest, context: TurnContext): Promise<TurnResult> {
  const { agent, settings, history, signal } = context;
  const { kind, runId, sessionKey, eventId, message } = request;
  const turnSettings = resolveTurnSettings(request, settings);
  const turn = {
    kind,
    runId,
    sessionKey,
    message: toPrompt(message),
    history,
    ...turnSettings,
    ack: settings.heartbeat.ack,
  };
  const asked: NewEntry = { sessionKey, role: "user", ...message, at: Date.now(), eventId, runId };
  const { text, model, usage, warnings } = await inSpan("turn", async (describe) => {
    const reply = await withTimeout((ended) => agent.run(turn, ended), {
      timeoutMs: turnSettings.timeoutSeconds * 1000,
      timeoutError: () => new TurnTimeout(turnSettings.timeoutSeconds),
      signal,
    });
    describe?.({
      "gen_ai.response.model": reply.model,
      "gen_ai.usage.input_tokens": reply.usage?.inputTokens,
      "gen_ai.usage.output_tokens": reply.usage?.outputTokens,
    });
    return reply;
  });
  const finishedAt = Date.now();
  const answered: NewEntry = { sessionKey, role: "assistant", text, at: finishedAt, eventId, runId };
  const cost = toCost(usage, settings.prices[turnSettings.model ?? ""]);
  return { finishedAt, reply: text, model, usage, cost, warnings: warnings ?? [], entries: [asked, answered] };
}

const MILLION = 1_000_000;

/** Undefined without a price, or if the agent does not say what it used. */
function toCost(
  usage: Run["usage"],
  price: ResolvedConfig["agents"]["prices"][string] | undefined,
): number | undefined {
  if (!usage || !price) return undefined;
  const { inputTokens = 0, outputTokens = 0 } = usage;
  return (inputTokens * price.input + outputTokens * price.output) / MILLION;
}

/** The turn exceeded its timeout. Not retryable: another attempt would cost as much and end the same way. */
export class TurnTimeout extends DriverError {
  override name = "TurnTimeout";

  constructor(seconds: number) {
    super(`timed out after ${seconds} s`, { retryable: false });
  }
}

/** How much text there may be beside the ack, in characters. */
const MAX_BESIDE = 300;

/** Whether a reply is just the ack: at its start or end, with at most 300 characters beside it. */
export function isOnlyAck(reply: string, ack: string): boolean {
  const text = reply.trim();
  // This comes first because the patterns below are slow on long runs of punctuation.
  if (text.length - ack.length > MAX_BESIDE) return false;
  return isAtEdge(text, ack.trim()) || isAtEdge(withoutPunctuation(text), withoutPunctuation(ack));
}

/** Drops quotes, Markdown and HTML emphasis, and other punctuation around a text. */
function withoutPunctuation(text: string): string {
  return text.replace(/<\/?[a-z]\w*>/gi, " ").replace(/^[\s\p{P}\p{S}]+|[\s\p{P}\p{S}]+$/gu, "");
}

/** Whether the text starts or ends with these words, as whole words. */
function isAtEdge(text: string, words: string): boolean {
  if (words === "") return false;
  const isFirst = text.startsWith(words) && !/^[\p{L}\p{N}_]/u.test(text.slice(words.length));
  const isLast = text.endsWith(words) && !/[\p{L}\p{N}_]$/u.test(text.slice(0, -words.length));
  return isFirst || isLast;
}
