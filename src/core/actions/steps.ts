import { type Bounded, protect } from "../boundary/boundary.ts";
import type { ApprovalDraft } from "../approvals/ask.ts";
import type { Approval, ApprovalUse, Questions, Step } from "../journal/journal.ts";
import type { OfferedChange } from "../ports/agent.ts";
import { inSpan } from "../telemetry/traces.ts";
import type { CallRules } from "./call-rules.ts";

/** Where the steps of a run are recorded, and what the journal and the nodes know of it. */
export interface StepStore {
  list(): Promise<Step[]>;
  /** False, and nothing is recorded, if another node has the run, or knows more about it. */
  record(steps: Step[], uses?: ApprovalUse[]): Promise<boolean>;
  /** The questions of the run, oldest first. */
  approvals(): Promise<Approval[]>;
  /** Whether the run is still this node's: asked before each effect. */
  isHeld(): Promise<boolean>;
  /** Keeps a result although another node has the run. */
  settle(result: Step): Promise<void>;
  /** Whether another node has another configuration. */
  isDisputed(): Promise<boolean>;
  /** Keeps a change of the run's session under its keys, so that events about it continue that session. `pull`: its pull request. */
  keepChange(change: OfferedChange, keys: readonly string[], pull?: string): Promise<void>;
  /** Keeps a message that a call has sent: what people answer to it continues the run's session. */
  keepMessage(channel: string, message: { to: string; messageId?: string }): Promise<void>;
  /** Signs a text with a key of this store. */
  sign(text: string): Uint8Array;
}

/** Rejects with `ClaimLost` if another node has the run. */
export async function recordSteps(steps: Step[], store: StepStore | undefined, uses?: ApprovalUse[]): Promise<void> {
  if (store && !(await store.record(steps, uses))) throw new ClaimLost();
}

/** Another node has the run, or knows more about it: this one drops what it has. */
export class ClaimLost extends Error {
  override name = "ClaimLost";
}

export type TurnQuestion = Omit<ApprovalDraft, "runId" | "eventId" | "hook">;

/** The calls and questions that hold up a turn. */
export interface Waiting extends Pick<Questions, "steps" | "open"> {
  drafts: TurnQuestion[];
  /** One of them is about an outcome. */
  isUnknown: boolean;
}

/** The turn cannot go on before a person has decided. */
export class Suspended extends Error {
  override name = "Suspended";
  waiting: Waiting;

  constructor(waiting: Waiting) {
    super("the turn waits for a person");
    this.waiting = waiting;
  }
}

/** Whether a step has its result. */
export function isFinished({ state }: Step): boolean {
  return state === "done" || state === "failed";
}

/** The result of a call, inside the boundary, under its name. */
export function toResultText(text: string, name: string, { origin }: CallRules): Bounded {
  return protect(text, { allowUnsafeExternalContent: false }, { ...origin, source: `tool ${name}` });
}

export function inCallSpan<Result>(callId: string, name: string, send: (callId: string) => Result): Result {
  return inSpan("execute_tool", (describeSpan) => {
    describeSpan?.({ "gen_ai.tool.name": name, "gen_ai.tool.call.id": callId });
    return send(callId);
  });
}
