import type { AgentDriver, AgentReply, AgentTurn, HistoryEntry } from "../agents/driver.ts";
import { type Bounded, type Origin, protect, protectAction, toLabel, toPrompt } from "../boundary/boundary.ts";
import type { ResolvedConfig } from "../config/types.ts";
import { DriverError } from "../errors.ts";
import type { NewDelivery, NewEntry, Run, TurnOutcome } from "../journal/journal.ts";
import { resolveTurnSettings, type TurnSettings } from "../mapping/policy.ts";
import { withTimeout } from "../shared/time.ts";
import { createId } from "../shared/id.ts";
import { cutText } from "../shared/text.ts";
import { inSpan } from "../telemetry/traces.ts";
import { type AgentAction, MAIN_SESSION } from "../types.ts";

/** A run of an agent action; a heartbeat's run has no action. */
export type HookRun = Run & { action: AgentAction };

/** Runs an agent action: a turn in its session, a summary for the main session, the delivery of the reply. */
export async function runAgentAction(run: HookRun, context: TurnContext): Promise<TurnOutcome> {
  const turn = replyWithoutAgent(run) ?? (await runAgentTurn(toRequest(run), context));
  return toOutcome(run, turn, context.settings);
}

/** The same without waiting, if there is no agent or it answers at once; undefined for all others. */
export function answerAgentAction(
  run: HookRun,
  { agent, settings }: Pick<TurnContext, "agent" | "settings">,
): TurnOutcome | undefined {
  const turn = replyWithoutAgent(run) ?? (agent.replyNow && answerNow(toRequest(run), settings, agent.replyNow));
  return turn && toOutcome(run, turn, settings);
}

function toRequest(run: HookRun): TurnRequest {
  const { id: runId, eventId, sessionKey, action } = run;
  const { model, thinking, timeoutSeconds } = action;
  const message = toMessage(run);
  return { kind: "hook", runId, eventId, sessionKey, message, model, thinking, timeoutSeconds };
}

function toMessage(run: HookRun): Bounded {
  return protectAction(run.action.message, run.action, originOf(run));
}

function toOutcome(run: HookRun, turn: TurnResult, { heartbeat }: TurnContext["settings"]): TurnOutcome {
  return {
    ...turn,
    entries: [...turn.entries, toSummary(run, turn.reply, turn.finishedAt)],
    deliveries: toDeliveries(run, turn.reply, heartbeat.ack),
  };
}

/**
 * Without an agent the message itself is the reply. The session keeps the wrapped message for both sides, because a later
 * turn is given these entries and must not take outside text for the assistant's own words.
 */
function replyWithoutAgent(run: HookRun): TurnResult | undefined {
  const { id: runId, eventId, sessionKey, action } = run;
  if (action.agent !== "none") return undefined;
  const at = Date.now();
  const entry = { sessionKey, ...toMessage(run), at, eventId, runId };
  return {
    finishedAt: at,
    reply: action.message,
    model: "none",
    warnings: [],
    entries: [
      { ...entry, role: "user" },
      { ...entry, role: "assistant" },
    ],
  };
}

function toDeliveries({ id: runId, eventId, sessionKey, action }: HookRun, text: string, ack: string): NewDelivery[] {
  const { deliver, channel, to, agent, toSource, update } = action;
  if (!deliver || text.trim() === "") return [];
  // Only an agent can acknowledge. In a message that was passed on, the same words come from outside.
  if (agent !== "none" && isOnlyAck(text, ack)) return [];
  const conversation = toSource && sessionKey;
  return [{ id: createId(), runId, eventId, channel, to, text, conversation, update }];
}

/** The summary of a run that succeeded: `Hook <name>: …`. */
export function toSummary(run: HookRun, reply: string, at: number): NewEntry {
  return createSummary(run, { label: `Hook ${toLabel(run.action.name)}`, text: reply.trim(), at });
}

/** The summary of a run that failed permanently: `Hook <name> (error): …`. */
export function toErrorSummary(run: HookRun, error: Error, at: number): NewEntry {
  const label = `Hook ${toLabel(run.action.name)} (error)`;
  // A provider's error may quote what it was sent, which came from outside. Only the timeout's text is our own.
  return createSummary(run, { label, text: error.message, trustedText: error instanceof TurnTimeout, at });
}

/** Where the untrusted text of a run came from. */
function originOf(run: HookRun): Origin {
  const hook = run.hook ?? run.action.name;
  return { source: `webhook ${hook}`, hook };
}

/** An agent's reply to untrusted text is untrusted too, and so is a name that the request chose. */
function createSummary(
  run: HookRun,
  { label, text, trustedText, at }: { label: string; text: string; trustedText?: boolean; at: number },
): NewEntry {
  const { id: runId, eventId, action } = run;
  const { trustedName, wakeMode, allowUnsafeExternalContent } = action;
  const excerpt = shorten(text || "(no text)");
  const entry = { sessionKey: MAIN_SESSION, role: "system", at, eventId, runId, pending: true } as const;
  const urgent = wakeMode === "now";
  const before = `${label}: `;
  if (trustedName && trustedText) return { ...entry, text: before + excerpt, urgent };
  const [trusted, untrusted] = trustedName ? [before, excerpt] : [undefined, before + excerpt];
  const summary = protect(untrusted, { allowUnsafeExternalContent, before: trusted }, originOf(run));
  return { ...entry, ...summary, urgent };
}

/** In characters; the run keeps the whole text. */
const MAX_EXCERPT = 2000;

function shorten(text: string): string {
  if (text.length <= MAX_EXCERPT) return text;
  const start = cutText(text, MAX_EXCERPT);
  return `${start}\n[… ${text.length - start.length} more characters]`;
}

/** The settings of a turn, read when it starts. */
export interface TurnContext {
  agent: AgentDriver;
  settings: ResolvedConfig["agents"];
  /** The session's earlier turns, oldest first. */
  history: HistoryEntry[];
  /** Aborts when the service stops. */
  signal: AbortSignal;
}

interface TurnRequest extends Pick<AgentTurn, "kind" | "runId" | "sessionKey">, Partial<TurnSettings> {
  message: Bounded;
  eventId?: string;
}

type TurnResult = Omit<TurnOutcome, "deliveries">;

/**
 * Runs one turn of the agent; the result holds the two entries that the session keeps. Rejects with the driver's error,
 * a `TurnTimeout`, or the signal's reason.
 */
export async function runAgentTurn(request: TurnRequest, context: TurnContext): Promise<TurnResult> {
  const { agent, settings, history, signal } = context;
  const turn = toTurn(request, settings);
  const askedAt = Date.now();
  const answer = await inSpan("turn", async (describe) => {
    const reply = await withTimeout((ended) => agent.run({ ...turn, history }, ended), {
      timeoutMs: turn.timeoutSeconds * 1000,
      timeoutError: () => new TurnTimeout(turn.timeoutSeconds),
      signal,
    });
    describe?.({
      "gen_ai.response.model": reply.model,
      "gen_ai.usage.input_tokens": reply.usage?.inputTokens,
      "gen_ai.usage.output_tokens": reply.usage?.outputTokens,
    });
    return reply;
  });
  return toResult(request, { askedAt, answer, price: settings.prices[turn.model ?? ""] });
}

type TurnNow = Omit<AgentTurn, "history">;

function answerNow(
  request: TurnRequest,
  settings: TurnContext["settings"],
  replyNow: (turn: TurnNow) => AgentReply,
): TurnResult {
  const turn = toTurn(request, settings);
  return toResult(request, { askedAt: Date.now(), answer: replyNow(turn), price: settings.prices[turn.model ?? ""] });
}

function toTurn(request: TurnRequest, settings: TurnContext["settings"]): TurnNow {
  const { kind, runId, sessionKey, message } = request;
  const { ack } = settings.heartbeat;
  return { kind, runId, sessionKey, message: toPrompt(message), ...resolveTurnSettings(request, settings), ack };
}

function toResult(
  { sessionKey, eventId, runId, message }: TurnRequest,
  { askedAt, answer, price }: { askedAt: number; answer: AgentReply; price: Price | undefined },
): TurnResult {
  const { text, model, usage, warnings = [] } = answer;
  const finishedAt = Date.now();
  const origin = { sessionKey, eventId, runId };
  const entries: NewEntry[] = [
    { ...origin, role: "user", ...message, at: askedAt },
    { ...origin, role: "assistant", text, at: finishedAt },
  ];
  return { finishedAt, reply: text, model, usage, cost: toCost(usage, price), warnings, entries };
}

type Price = TurnContext["settings"]["prices"][string];

const MILLION = 1_000_000;

/** Undefined without a price, or if the agent does not say what it used. */
function toCost(usage: Run["usage"], price: Price | undefined): number | undefined {
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
