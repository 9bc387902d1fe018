import type { AgentReply, Workspace } from "../ports/agent.ts";
import type { Step } from "../journal/journal.ts";
import { type PastExchange, toExchange } from "./ask-models.ts";
import { isFinished } from "./steps.ts";
import { addUsage } from "./turn-cost.ts";

export interface TurnAnswer extends Pick<AgentReply, "text" | "model" | "usage" | "cost"> {
  warnings: string[];
  /** The private sources of everything that was in the prompt. */
  sources: string[];
  /** Words and acts of the agent before its reply. */
  notes: Step[];
  lastStep?: Step;
  /** The agent was not asked: why, as a clause. */
  skipped?: string;
}

/** The state of a turn between its steps. */
export interface Progress extends TurnAnswer {
  /** The number of the next step. */
  next: number;
  past: PastExchange[];
  /** The calls of the last answer, which have no results yet. */
  open: Step | undefined;
  /** The call that the service has made of the agent's files, after which nothing is asked. */
  changed?: Step;
  usedMs: number;
}

/** The steps that a turn begins with. */
export interface Recorded {
  /** The private sources of the history and the message. */
  sources: string[];
  /** Steps that an earlier attempt has recorded, and the context. */
  recorded: readonly Step[];
  /** How many steps are context, without the one of the workspace. */
  contexts: number;
  workspace?: Workspace;
}

/** The progress that an earlier attempt has recorded. */
export function toProgress({ recorded: steps, sources, contexts, workspace }: Recorded): Progress {
  const next = 1 + contexts + (workspace ? 1 : 0);
  const progress: Progress = { text: "", warnings: [], notes: [], sources, next, past: [], open: undefined, usedMs: 0 };
  for (const step of steps) {
    if (step.kind !== "model" || !step.answer) continue;
    addAnswer(progress, step);
    const end = step.n + step.answer.calls.length;
    const results = steps.filter(
      (call) => call.kind === "call" && call.n > step.n && call.n <= end && isFinished(call),
    );
    if (results.length === step.answer.calls.length) addResults(progress, step, results);
  }
  return progress;
}

export function addAnswer(progress: Progress, step: Step): void {
  const { text = "", model, usage, cost, answer } = step;
  if (text.trim() !== "" || !answer) progress.text = text;
  progress.model = model;
  progress.usage = addUsage(progress.usage, usage);
  if (cost !== undefined) progress.cost = (progress.cost ?? 0) + cost;
  progress.usedMs += durationOf([step]);
  progress.next = step.n + 1 + (answer?.calls.length ?? 0);
  progress.open = answer && step;
}

export function addResults(progress: Progress, answer: Step, results: Step[]): void {
  progress.past.push(toExchange(answer, results));
  addSources(
    progress,
    results.flatMap(({ sources }) => sources),
  );
  progress.usedMs += durationOf(results);
  progress.open = undefined;
  if (answer.answer?.change) progress.changed = results[0];
}

/** Reads are executed side by side, the others one by one. The time in which a person finds out what happened does not count. */
function durationOf(steps: Step[]): number {
  const reads = steps.filter(({ callId }) => callId === undefined);
  const others = steps.filter(({ callId, decided }) => callId !== undefined && !isFoundOut(decided?.decision));
  return [reads, ...others.map((step) => [step])].reduce((sum, group) => sum + spanOf(group), 0);
}

function isFoundOut(decision: string | undefined): boolean {
  return decision === "done" || decision === "give-up";
}

function spanOf(steps: Step[]): number {
  if (steps.length === 0) return 0;
  const end = Math.max(...steps.map(({ startedAt, finishedAt = startedAt }) => finishedAt));
  return Math.max(0, end - Math.min(...steps.map(({ startedAt }) => startedAt)));
}

/** Gives all private sources of the turn so far. */
export function addSources(progress: Progress, more: readonly string[] = []): string[] {
  progress.sources = [...new Set([...progress.sources, ...more])];
  return progress.sources;
}

/** How often an agent was asked: one that calls by itself may have made several calls each time. */
export function countRequests(past: readonly PastExchange[]): number {
  const turns = new Set(past.flatMap(({ turn }) => turn ?? []));
  return turns.size + past.filter(({ turn }) => turn === undefined).length;
}
