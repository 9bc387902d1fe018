import type { AgentDriver, AgentNote, OfferedChange, TokenUsage, TurnWorkspace, Workspace } from "../ports/agent.ts";
import type { ResolvedConfig } from "../config/resolved-config.ts";
import { DriverError, withWarnings } from "../errors.ts";
import type { Step } from "../journal/journal.ts";
import { withTimeout } from "../shared/time.ts";
import { askModels, type PastExchange, type Question, toPlainText } from "./ask-models.ts";
import { type CallsContext, executeCalls } from "./calls.ts";
import { type MadeCall, type OwnTurn, startOwnTurn } from "./own-calls.ts";
import { ClaimLost, recordSteps } from "./steps.ts";
import { addUsage, isSpent, toCost } from "./turn-cost.ts";
import {
  addAnswer,
  addResults,
  addSources,
  countRequests,
  type Progress,
  type Recorded,
  toProgress,
  type TurnAnswer,
} from "./turn-progress.ts";

export interface LoopContext extends Recorded, Pick<CallsContext, "rules" | "written" | "steps" | "signal"> {
  agent: AgentDriver;
  settings: Pick<ResolvedConfig["agents"], "prices" | "maxSteps" | "budget">;
  fallbackModels: string[];
  /** The turn has context, grants or a workspace, so its last answer is recorded too. */
  hasSteps: boolean;
}

/**
 * Asks the model, executes the calls that it asks for, and asks again, until it replies or a limit is reached. Each answer and
 * its results are recorded before the next request, so that the turn continues from there after a crash. A turn that may
 * call nothing is one request, and records nothing.
 */
export async function runLoop(question: Question, context: LoopContext): Promise<TurnAnswer> {
  const progress = toProgress(context);
  try {
    return await converse(question, progress, context);
  } catch (error) {
    if (!(error instanceof TurnTimeout) || progress.past.length === 0) throw withWarnings(error, progress.warnings);
    const at = Date.now();
    const step: Step = {
      n: progress.next,
      kind: "model",
      state: "failed",
      text: error.message,
      sources: [],
      startedAt: at,
    };
    return endEarly({ ...progress, lastStep: { ...step, finishedAt: at } }, `it ${error.message}`);
  }
}

async function converse(question: Question, progress: Progress, context: LoopContext): Promise<TurnAnswer> {
  for (;;) {
    if (progress.open) await finishCalls(progress.open, progress, question, context);
    if (progress.changed) return endWithChange(progress, progress.changed);
    const { past } = progress;
    const before = past.length === 0 ? undefined : findReached(countRequests(past), progress, context.settings);
    if (before !== undefined) return endEarly(progress, before);
    const step = await askWithCalls(question, progress, context);
    if (step.answer?.change) {
      const notes = numberFrom(progress.next, progress.notes);
      const answer = { ...step, n: step.n + notes.length };
      addAnswer(progress, answer);
      progress.notes = [];
      await recordSteps([...notes, answer], context.steps);
      continue;
    }
    addAnswer(progress, step);
    if (!step.answer) return endTurn(progress, step, context);
    // The answer of now has no results yet.
    const reached = findReached(countRequests(past) + 1, progress, context.settings);
    if (reached !== undefined) return endEarly({ ...progress, lastStep: step }, reached);
    await recordSteps([step], context.steps);
  }
}

/** Notes come before the answer, which is a step only in a turn with steps. */
function endTurn({ notes, ...progress }: Progress, answer: Step, { hasSteps }: LoopContext): TurnAnswer {
  const lastStep = hasSteps ? { ...answer, n: answer.n + notes.length } : undefined;
  return { ...progress, notes: numberFrom(answer.n, notes), lastStep };
}

function numberFrom(first: number, notes: readonly Step[]): Step[] {
  return notes.map((note, index) => ({ ...note, n: first + index }));
}

/** The reply ends with the address of the pull request, or says why there is none. */
function endWithChange({ text, ...progress }: Progress, call: Step): TurnAnswer {
  const end = call.pull ?? `[The change is not published. ${call.text?.trim() ?? ""}]`;
  return { ...progress, text: [text.trim(), end].filter(Boolean).join("\n\n"), notes: [], lastStep: call };
}

/** Does work in the time that the turn has left. Time that is spent on calls that change something counts afterward. */
function within<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  { usedMs }: Progress,
  { timeoutSeconds }: Question,
  { signal }: LoopContext,
): Promise<Result> {
  return withTimeout(work, {
    timeoutMs: Math.max(1, timeoutSeconds * 1000 - usedMs),
    timeoutError: () => new TurnTimeout(timeoutSeconds),
    signal,
  });
}

/** An agent that calls by itself does so meanwhile. */
async function askWithCalls(question: Question, progress: Progress, context: LoopContext): Promise<Step> {
  const own = context.rules.tools.length > 0 ? openOwnTurn(progress, context) : undefined;
  const ask = (signal: AbortSignal): Promise<Step> =>
    askOnce(question, progress, { ...context, own, signal: own ? AbortSignal.any([signal, own.signal]) : signal });
  try {
    return await within(ask, progress, question, context);
  } finally {
    // A question to a person is more than what the agent said or failed with.
    await own?.end();
  }
}

function openOwnTurn(progress: Progress, context: LoopContext): OwnTurn {
  const { rules, steps } = context;
  const turn = 1 + Math.max(0, ...progress.past.map((exchange) => exchange.turn ?? 0));
  const signal = whileServing(context.signal);
  let startedAt = Date.now();
  return startOwnTurn({
    rules,
    made: () => progress.past.flatMap(toMade),
    describe: (from) => toPlainText(progress.past.filter(({ turn: own }) => own !== undefined).slice(from)).trim(),
    addSources: (sources) => addSources(progress, sources),
    async make({ name, arguments: args, usage, usedBy, model: asked }) {
      const { next: n, sources } = progress;
      const calls = [{ toolCallId: `call-${n}`, name, arguments: args }];
      const step: Step = {
        n,
        kind: "model",
        state: "done",
        model: usedBy ?? asked,
        usage,
        cost: toCost(usage, context.settings.prices[usedBy ?? ""]),
        sources,
        startedAt,
        finishedAt: Date.now(),
        answer: { asked, calls, content: null, turn },
      };
      await recordSteps([step], steps);
      addAnswer(progress, step);
      const { past } = progress;
      const results = await executeCalls(step, { ...context, signal, past, sources, within: (work) => work(signal) });
      addResults(progress, step, results);
      startedAt = Date.now();
      return progress.past.slice(-1).flatMap(toMade)[0]!;
    },
  });
}

/** A call under way is awaited also if the run is canceled: its result is recorded. */
function whileServing(signal: AbortSignal): AbortSignal {
  const stopped = new AbortController();
  const stop = (): void => {
    if (!(signal.reason instanceof ClaimLost)) stopped.abort(signal.reason);
  };
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  return stopped.signal;
}

/** Such an exchange has one call. */
function toMade({ turn, calls: [call], results: [result] }: PastExchange): MadeCall[] {
  if (turn === undefined || !call || !result) return [];
  const { text, isError } = result;
  return [{ name: call.name, arguments: call.arguments, text, isError }];
}

/** One request to the model, as a step. Its warnings are added to the progress. */
async function askOnce(
  question: Question,
  progress: Progress,
  context: LoopContext & { own?: OwnTurn },
): Promise<Step> {
  const { agent, settings, signal } = context;
  const startedAt = Date.now();
  // A turn keeps the model that answered last.
  const model = progress.past.at(-1)?.asked ?? question.model;
  const { tools } = context.rules;
  const { usage: used, cost: spent = 0 } = progress;
  const turn = {
    ...question,
    model,
    workspace: context.workspace && toTurnWorkspace(context.workspace, context),
    tools: tools.length > 0 ? tools : undefined,
    past: progress.past,
    openCalls: context.own?.open,
    ...(progress.sources.length > 0 && { sources: progress.sources }),
    ...(settings.budget?.perRun !== undefined && {
      isSpent: (asked: string, more: TokenUsage) =>
        isSpent(addUsage(used, more), spent + (toCost(more, settings.prices[asked]) ?? 0), settings.budget),
    }),
  };
  const reply = await askModels(turn, { agent, fallbackModels: context.fallbackModels, signal });
  addSources(progress, reply.sources);
  progress.warnings.push(...reply.warnings);
  progress.notes = (reply.notes ?? []).map((note) => toNote(note, progress.sources));
  const { text, usage, calls = [], answer, asked, change } = reply;
  progress.skipped = reply.skipped;
  return {
    n: progress.next,
    kind: "model",
    state: "done",
    text,
    model: reply.model,
    usage,
    cost: toCost(usage, settings.prices[asked ?? ""] ?? settings.prices[reply.model ?? ""]) ?? reply.cost,
    sources: progress.sources,
    startedAt,
    finishedAt: Date.now(),
    ...(calls.length > 0 && { answer: { asked, calls, content: answer } }),
    ...(change && { answer: toChangeAnswer(change, asked, context) }),
  };
}

/** The only call of such an answer. */
function toChangeAnswer(
  change: OfferedChange,
  asked: string | undefined,
  { rules }: LoopContext,
): NonNullable<Step["answer"]> {
  const name = rules.change?.call.modelName ?? "change";
  return { asked, calls: [{ toolCallId: "change", name, arguments: change.arguments }], change, content: null };
}

const WORKSPACE_TITLE = "The repository";

function toTurnWorkspace(workspace: Workspace, { rules, contexts, sources, steps }: LoopContext): TurnWorkspace {
  const { account, repository, isPublic, isForeign } = workspace;
  return {
    ...workspace,
    canOffer: rules.change !== undefined && !isForeign,
    async record(commit) {
      const at = Date.now();
      const step: Step = {
        n: contexts + 1,
        kind: "context",
        state: "done",
        title: WORKSPACE_TITLE,
        arguments: { repository: `${account}:${repository}`, commit },
        text: `${repository} at ${commit}`,
        sources: isPublic ? [] : sources.filter((source) => source === account),
        startedAt: at,
        finishedAt: at,
      };
      await recordSteps([step], steps);
    },
  };
}

function toNote({ at, call, text }: AgentNote, sources: string[]): Step {
  const said = call === undefined ? { text } : { title: call };
  return { n: 0, kind: "note", state: "done", ...said, sources, startedAt: at, finishedAt: at };
}

/** Executes the calls of an answer, and records their results. */
async function finishCalls(answer: Step, progress: Progress, question: Question, context: LoopContext): Promise<void> {
  const { past, sources } = progress;
  const results = await executeCalls(answer, {
    ...context,
    past,
    sources,
    within: (work) => within(work, progress, question, context),
  });
  addResults(progress, answer, results);
}

/** The limit that forbids another request, as the end of a sentence; undefined: none. */
function findReached(
  requests: number,
  { usage, cost = 0 }: Progress,
  { maxSteps, budget }: LoopContext["settings"],
): string | undefined {
  if (requests >= maxSteps) return `the model was asked ${maxSteps} times (agents.defaults.maxSteps)`;
  return isSpent(usage, cost, budget) ? "it has spent agents.budget.perRun" : undefined;
}

/** The reply is what the model wrote last. */
function endEarly(progress: TurnAnswer, reason: string): TurnAnswer {
  const sentence = `The turn ended before the model was done: ${reason}.`;
  const text = [progress.text.trim(), `[${sentence}]`].filter(Boolean).join("\n\n");
  return { ...progress, text, notes: [], warnings: [...progress.warnings, sentence] };
}

/** The turn exceeded its timeout. Not retryable: another attempt would cost as much and end the same way. */
export class TurnTimeout extends DriverError {
  override name = "TurnTimeout";

  constructor(seconds: number) {
    super(TurnTimeout.messageAfter(seconds), { retryable: false });
  }

  static messageAfter(seconds: number): string {
    return `timed out after ${seconds} s`;
  }
}
