import type { Claim } from "./node.ts";
import type { TokenUsage } from "../../ports/agent.ts";
import type { AgentAction, RunState } from "../../types.ts";
import type { FailedAttempt, Interruptions } from "./failed-attempt.ts";
import type { NewApproval } from "./approval.ts";
import type { NewDelivery } from "./delivery.ts";
import type { NewEntry } from "./session.ts";
import type { Step } from "./step.ts";

export interface Run {
  id: string;
  kind: "hook" | "heartbeat";
  eventId?: string;
  hook?: string;
  /** The id of its mapping. Absent: a built-in hook, or a heartbeat. */
  mapping?: string;
  sessionKey: string;
  /** Absent on heartbeats. */
  action?: AgentAction;
  /**
   * Messages that later events added, in order, and the context and grants of the last one. Only on claimed runs and in
   * an event's record.
   */
  joined?: { messages: string[]; leftOut: number; access?: ToolAccess };
  /** Only in an event's record, of runs that have some. */
  steps?: Step[];
  /** Only in an event's record and in `getRun`, if there are any: the last ones, in order. */
  failedAttempts?: FailedAttempt[];
  state: RunState;
  /** Why it is held. */
  holdReason?: string;
  /**
   * The cause of its wait, in lists and `getRun`: its mapping is paused while it is ready, or it is queued behind
   * another run of its session.
   */
  waitsFor?: RunWait;
  /** While it is not finished: since when the provider of its model has been unavailable. */
  unavailableSince?: number;
  /** The provider that it waits for, until its next attempt. */
  waitingFor?: string;
  /** Includes the current one while running. */
  attempts: number;
  createdAt: number;
  dueAt: number;
  startedAt?: number;
  finishedAt?: number;
  reply?: string;
  model?: string;
  usage?: TokenUsage;
  /** In the currency of the configured prices; absent if the model has none. */
  cost?: number;
  warnings: string[];
  error?: string;
}

/** Reads, grants and files of an action's agent, from its event. */
export type ToolAccess = Pick<AgentAction, "context" | "grants" | "files">;

/**
 * paused: its mapping is, or that of the run before it · held: the run before it is · turn: the run before it is not finished.
 * `runId` with `eventId` and `holdReason`: the first of its session; absent if it is that one itself.
 */
export interface RunWait {
  kind: "paused" | "held" | "turn";
  runId?: string;
  eventId?: string;
  holdReason?: string;
  /** The mapping that is paused. */
  mapping?: string;
}

/** Heartbeats are recorded, never claimed: a claimed run always has an action. */
export interface ClaimedRun extends Run, Claim {
  action: AgentAction;
  /** Absent if there are none. */
  interruptions?: Interruptions;
  /** An operator released it, or it asked a person before: a budget does not hold it again. */
  released?: boolean;
}

/** Why a run is given back. */
export interface GiveBack extends Pick<Run, "unavailableSince" | "waitingFor"> {
  error: string;
  /** The ones of a `FailedAttempt`. */
  warnings?: readonly string[];
}

export interface RunLimit {
  /** How many runs of the mapping may be running at once. */
  concurrency?: number;
  /** At most `max` runs start within `perMs` milliseconds. */
  rate?: { max: number; perMs: number };
}

/** By mapping id. */
export type RunLimits = ReadonlyMap<string, RunLimit>;

/** The result of a finished turn; one commit stores all of it. */
export interface TurnOutcome extends Pick<Run, "model" | "usage" | "cost" | "warnings"> {
  finishedAt: number;
  reply: string;
  /** New entries of its session, and the summary for the main session. */
  entries: NewEntry[];
  deliveries: NewDelivery[];
  /** Steps of kind `note`. */
  notes?: Step[];
  /** The answer that ended a turn with steps. Its usage is spent now; that of the earlier steps was spent with them. */
  lastStep?: Step;
  /** Replies that a person must see first. Their deliveries are not among `deliveries`. */
  questions?: NewApproval[];
}

/** The end of a run that failed permanently; one commit stores all of it. */
export interface RunFailure {
  finishedAt: number;
  error: string;
  /** The ones of a `FailedAttempt`. */
  warnings?: readonly string[];
  entries: NewEntry[];
  /** The notice for the place of the event. */
  deliveries?: NewDelivery[];
}

/** Calls and approvals of a held run. */
export interface Questions {
  /** The calls that wait. */
  steps: Step[];
  /** New ones. An outcome is only asked for while its call has no result. */
  asked: NewApproval[];
  /** The ids of those that were asked before. */
  open: string[];
}

/** Which held runs are released; undefined: all. Runs that wait for a person's word stay held. */
export interface HeldFilter {
  reason?: string;
  runs?: string[];
  sessionKey?: string;
}

/** A mapping whose runs wait until it is resumed. */
export interface Pause {
  mapping: string;
  since: number;
}

/** The tokens and cost of the finished runs of a day, hook, mapping and model. */
export interface Spend {
  /** UTC, as 2026-11-27. */
  day: string;
  /** Empty for heartbeats. */
  hook: string;
  /** Empty for heartbeats and the service's own hooks. */
  mapping: string;
  /** Empty if the agent named none. */
  model: string;
  /** Runs whose agent reported its tokens. */
  runs: number;
  inputTokens: number;
  outputTokens: number;
  cost: number;
}
