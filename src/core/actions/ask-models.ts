import type {
  AgentDriver,
  AgentReply,
  AgentTurn,
  HistoryEntry,
  CallOutcome,
  Exchange,
  OwnCalls,
  RequestedCall,
} from "../ports/agent.ts";
import { neutralize, toPrompt } from "../boundary/boundary.ts";
import { NO_PICTURES } from "../ports/agent.ts";
import { DriverError, type ModelFailure } from "../errors.ts";
import type { Step } from "../journal/journal.ts";

/** A turn before it is known which model answers. */
export interface Question extends Omit<AgentTurn, "exchanges"> {
  /** Answers that asked for calls, and their results, oldest first. */
  past?: readonly PastExchange[];
  /** For an agent that calls by itself. */
  openCalls?(model: string | undefined): OwnCalls;
}

export interface Answer extends AgentReply {
  /** The model that was asked and answered; its prices apply. */
  asked?: string;
  warnings: string[];
}

/** After these another model may answer. A refused key or a bad prompt is not hidden by one. */
const PASSED_ON: ReadonlySet<ModelFailure | undefined> = new Set(["unavailable", "quota", "unknown-model"]);

/**
 * Asks the model of a turn, then its fallback models, at once and in order. If none answers, the error is retryable as long
 * as one of them was only unavailable: the next attempt begins with the first again.
 */
export async function askModels(
  turn: Question,
  { agent, fallbackModels, signal }: { agent: AgentDriver; fallbackModels: string[]; signal: AbortSignal },
): Promise<Answer> {
  const failures: Failure[] = [];
  for (const model of new Set([turn.model, ...fallbackModels])) {
    try {
      const answer = await askWithLess({ ...turn, model }, agent, signal);
      const warnings = [...failures.map(({ error: { message } }) => message), ...answer.warnings];
      return { ...answer, asked: model, warnings };
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      failures.push({ model, error });
      if (signal.aborted || !PASSED_ON.has(error.modelFailure)) break;
    }
  }
  throw joinFailures(failures);
}

interface Failure {
  model: string | undefined;
  error: DriverError;
}

/** No model has answered, and one of them may do so later. */
export class ModelUnavailable extends DriverError {
  /** The first that was unavailable. */
  readonly model: string | undefined;

  constructor(message: string, { model, retryAfterMs }: { model: string | undefined; retryAfterMs?: number }) {
    super(message, { retryable: true, modelFailure: "unavailable", retryAfterMs });
    this.model = model;
  }
}

function joinFailures(failures: Failure[]): DriverError {
  const [first, ...others] = failures;
  if (first && others.length === 0) return first.error;
  const message = failures.map(({ error }) => error.message).join(" ");
  const unavailable = failures.filter(({ error }) => error.modelFailure === "unavailable");
  if (unavailable.length === 0) {
    return new DriverError(message, { retryable: failures.some(({ error }) => error.retryable) });
  }
  const waits = unavailable.map(({ error }) => error.retryAfterMs).filter((wait) => wait !== undefined);
  return new ModelUnavailable(message, {
    model: unavailable[0]?.model,
    // The first that can answer again decides. One that does not say when is asked soon.
    retryAfterMs: waits.length === unavailable.length ? Math.min(...waits) : undefined,
  });
}

/** If the prompt does not fit, asks again with half of the history, without it, then without the oldest results. */
async function askWithLess(turn: Question, agent: AgentDriver, signal: AbortSignal): Promise<Omit<Answer, "asked">> {
  const { history, past = [] } = turn;
  const results = countResults(past);
  let left = history;
  let leftOut = 0;
  let { files, message } = turn;
  for (;;) {
    try {
      const asked = toTurn({ ...turn, message, files, history: left, past: leaveOut(past, leftOut) }, agent);
      const { warnings = [], ...reply } = await agent.run(asked, signal);
      const count = history.length - left.length;
      const less = [
        ...warnOfLess(count, history.length, "earlier messages of the session"),
        ...warnOfLess(leftOut, results, "results of calls"),
      ];
      const blind =
        files === turn.files ? [] : [`${turn.model ?? "The agent"} takes no pictures: it was asked without them.`];
      return { ...reply, warnings: [...less, ...blind, ...warnOfTools(turn, asked), ...warnings] };
    } catch (error) {
      if (error instanceof DriverError && error.modelFailure === "images" && files && !signal.aborted) {
        files = undefined;
        message += NO_PICTURES;
        continue;
      }
      const isTooLong = error instanceof DriverError && error.modelFailure === "too-long";
      const isAll = left.length === 0 && leftOut === results;
      if (!isTooLong || isAll || signal.aborted) throw error;
      if (left.length > 0) left = left === history ? toLaterHalf(history) : [];
      else leftOut += Math.ceil((results - leftOut) / 2);
    }
  }
}

/** Only a model continues from its own answers. Another one is given what was said since as plain text. */
function toTurn({ past = [], tools, openCalls, ...turn }: Question, agent: AgentDriver): AgentTurn {
  const canCall = tools !== undefined && agent.canCall?.(turn.model) === true;
  const isForeign = ({ asked, turn: own }: PastExchange): boolean => asked !== turn.model || own !== undefined;
  const own = canCall ? past.slice(past.findLastIndex(isForeign) + 1) : [];
  const message = turn.message + toPlainText(past.slice(0, past.length - own.length));
  if (!canCall) {
    const calls = tools && agent.makesCalls?.(turn.model) === true ? openCalls?.(turn.model) : undefined;
    return { ...turn, message, ...(calls && { calls }) };
  }
  return { ...turn, message, tools, exchanges: own.map(({ answer, results }) => ({ answer, results })) };
}

function warnOfTools({ model = "The agent", tools }: Question, asked: AgentTurn): string[] {
  return tools && !asked.tools && !asked.calls ? [`${model} cannot call tools: it was asked without them.`] : [];
}

/** Begins with a question: a model handles an answer without one badly. */
function toLaterHalf(history: HistoryEntry[]): HistoryEntry[] {
  const later = history.slice(Math.ceil(history.length / 2));
  return later[0]?.role === "assistant" ? later.slice(1) : later;
}

function warnOfLess(count: number, all: number, what: string): string[] {
  return count === 0 ? [] : [`The prompt did not fit: ${count} of ${all} ${what} were left out.`];
}

/** An answer of a model that asked for calls, with their results. */
export interface PastExchange extends Exchange {
  /** The model that answered, as the configuration names it. */
  asked: string | undefined;
  calls: RequestedCall[];
  /** The turn of an agent that calls by itself, in its run. */
  turn?: number;
  /** Which of them the rules have refused, in the order of the calls. */
  refused: boolean[];
}

/** An answer with the results of its calls, as the model is given them. */
export function toExchange({ answer }: Step, results: Step[]): PastExchange {
  const { asked, calls = [], turn, content } = answer ?? {};
  return {
    asked,
    calls,
    turn,
    refused: calls.map((_, index) => results[index]?.refused === true),
    answer: content,
    results: calls.map((call, index) => toOutcome(call, results[index])),
  };
}

function toOutcome({ toolCallId, name }: RequestedCall, result: Step | undefined): CallOutcome {
  const { text = "", boundary, state } = result ?? {};
  return { toolCallId, name, text: toPrompt({ text, boundary }), isError: state !== "done" };
}

/** Calls and their results as plain text, for a model that cannot continue from the answers of another. */
export function toPlainText(exchanges: readonly PastExchange[]): string {
  if (exchanges.length === 0) return "";
  const lines = exchanges.flatMap(({ calls, results }) =>
    calls.map((call, index) => {
      const written = neutralize(`${call.name} ${JSON.stringify(call.arguments)}`);
      return `You asked for ${written}\n${results[index]?.text ?? ""}`;
    }),
  );
  return `\n\nThese calls were made for you, and these are their results.\n\n${lines.join("\n\n")}`;
}

/** How many results an exchange can still lose. */
function countResults(exchanges: readonly PastExchange[]): number {
  return exchanges.reduce((sum, { results }) => sum + results.length, 0);
}

/** With a note in place of each of the oldest results. */
function leaveOut(exchanges: readonly PastExchange[], count: number): PastExchange[] {
  let number = 0;
  return exchanges.map((exchange) => ({
    ...exchange,
    results: exchange.results.map((result) => {
      number += 1;
      return number <= count ? { ...result, text: `[result ${number} left out]` } : result;
    }),
  }));
}
