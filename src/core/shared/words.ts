import type { Step } from "../journal/records/step.ts";
import type { ApprovalKind, ApprovalState, Decision, DeliveryState, EventStatus, RunState } from "../types.ts";

/*
 * The words of states: one for each, in the page, the API, the commands, messages and metrics. The journal tells more
 * apart, such as a turn that is due from one that is behind another.
 */

/** A request that is not finished: the first of these that is true of one of its turns and messages. */
export const UNFINISHED_WORDS = ["held", "waiting", "running"] as const;
export type UnfinishedWord = (typeof UNFINISHED_WORDS)[number];

export const REQUEST_WORDS = [...UNFINISHED_WORDS, "done", "skipped", "refused", "failed", "canceled"] as const;
export type RequestWord = (typeof REQUEST_WORDS)[number];

/** The words that a filter can name. */
export const REQUEST_FILTERS = [...REQUEST_WORDS, "unfinished"] as const;
export type RequestFilter = (typeof REQUEST_FILTERS)[number];

export const TURN_WORDS = ["held", "waiting", "running", "done", "failed", "canceled"] as const;
export type TurnWord = (typeof TURN_WORDS)[number];

export const MESSAGE_WORDS = ["waiting", "running", "sent", "skipped", "failed", "canceled"] as const;
export type MessageWord = (typeof MESSAGE_WORDS)[number];

export const QUESTION_WORDS = ["open", "approved", "denied", "expired", "withdrawn"] as const;
export type QuestionWord = (typeof QUESTION_WORDS)[number];

export type StepWord = "held" | "running" | "done" | "failed" | "unknown";

const REQUESTS: Record<EventStatus, Exclude<RequestFilter, UnfinishedWord>> = {
  accepted: "unfinished",
  skipped: "skipped",
  rejected: "refused",
  done: "done",
  failed: "failed",
  canceled: "canceled",
};

const TURNS: Record<RunState, TurnWord> = {
  held: "held",
  ready: "waiting",
  queued: "waiting",
  running: "running",
  done: "done",
  dead: "failed",
  canceled: "canceled",
};

const MESSAGES: Record<DeliveryState, MessageWord> = {
  pending: "waiting",
  queued: "waiting",
  sending: "running",
  sent: "sent",
  skipped: "skipped",
  failed: "failed",
  canceled: "canceled",
};

const QUESTIONS: Record<ApprovalState, QuestionWord> = {
  open: "open",
  approved: "approved",
  used: "approved",
  denied: "denied",
  expired: "expired",
  withdrawn: "withdrawn",
};

const STEPS: Record<Step["state"], StepWord> = {
  waiting: "held",
  started: "running",
  done: "done",
  failed: "failed",
  unknown: "unknown",
};

export const toTurnWord = (state: RunState): TurnWord => TURNS[state];
export const toMessageWord = (state: DeliveryState): MessageWord => MESSAGES[state];
export const toQuestionWord = (state: ApprovalState): QuestionWord => QUESTIONS[state];
export const toStepWord = (state: Step["state"]): StepWord => STEPS[state];

export function toRequestWord({
  status,
  unfinished,
}: {
  status: EventStatus;
  unfinished?: UnfinishedWord;
}): RequestWord {
  const word = REQUESTS[status];
  return word === "unfinished" ? (unfinished ?? "waiting") : word;
}

/** Made of the states of its turns and messages. */
export function toUnfinishedWord(turns: readonly RunState[], messages: readonly DeliveryState[]): UnfinishedWord {
  const words = new Set<string>([...turns.map(toTurnWord), ...messages.map(toMessageWord)]);
  return UNFINISHED_WORDS.find((word) => words.has(word)) ?? "waiting";
}

/** How a question has ended: about an outcome, what a person said of it. */
export function toEndWord({ kind, state, decision }: EndedQuestion): string {
  if (kind !== "outcome" || decision === undefined) return toQuestionWord(state);
  return decision === "give-up" ? "given up" : decision;
}

interface EndedQuestion {
  kind: ApprovalKind;
  state: ApprovalState;
  decision?: Decision;
}

/** Whether a request meets a filter. */
export function isRequest(word: string | undefined, filter: string): boolean {
  return word === filter || (filter === "unfinished" && UNFINISHED_WORDS.some((one) => one === word));
}

/** The conditions of a filter for the journal. */
export function ofRequests(filter: RequestFilter): { status: EventStatus; unfinished?: UnfinishedWord } {
  const unfinished = UNFINISHED_WORDS.find((word) => word === filter);
  const [status = "accepted"] = statesOf(REQUESTS, filter);
  return { status, ...(unfinished && { unfinished }) };
}

export const ofTurns = (word: TurnWord): RunState[] => statesOf(TURNS, word);
export const ofMessages = (word: MessageWord): DeliveryState[] => statesOf(MESSAGES, word);
export const ofQuestions = (word: QuestionWord): ApprovalState[] => statesOf(QUESTIONS, word);

function statesOf<State extends string>(words: Record<State, string>, wanted: string): State[] {
  const byState = new Map<string, string>(Object.entries(words));
  return Object.keys(words).filter((state): state is State => byState.get(state) === wanted);
}

/** Requests by word. Those that are not finished are counted together. */
export type EventCounts = { [Word in (typeof REQUESTS)[EventStatus]]?: number };

export function toEventCounts(counts: { readonly [Status in EventStatus]?: number }): EventCounts {
  return addUp(REQUESTS, counts);
}

/** Turns that are not finished, or have failed. */
export type RunCounts = { [Word in UnfinishedWord | "failed"]?: number };

export function toRunCounts(counts: { readonly [State in RunState]?: number }): RunCounts {
  return addUp(TURNS, counts);
}

function addUp(words: Readonly<Record<string, string>>, counts: { readonly [state: string]: number }): EventCounts {
  const sums: Record<string, number> = {};
  for (const [state, count] of Object.entries(counts)) {
    const word = words[state] ?? state;
    sums[word] = (sums[word] ?? 0) + count;
  }
  return sums;
}
