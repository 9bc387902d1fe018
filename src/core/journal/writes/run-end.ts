import type { NewDelivery } from "../records/delivery.ts";
import type { Claim } from "../records/node.ts";
import type { RunFailure, TurnOutcome } from "../records/run.ts";
import type { Step } from "../records/step.ts";
import type { NewEntry } from "../records/session.ts";
import type { ChangeReport, Used } from "./writer.ts";

/** The end of a claimed run, with everything that it produced. */
export interface RunEnd {
  claim: Claim;
  state: "done" | "dead";
  finishedAt: number;
  error?: string;
  /** The ones of a `FailedAttempt`. */
  warnings?: readonly string[];
  outcome?: TurnOutcome;
  entries: NewEntry[];
  deliveries: NewDelivery[];
}

export function toCompletion(claim: Claim, outcome: TurnOutcome): RunEnd {
  const { finishedAt, entries, deliveries } = outcome;
  return { claim, state: "done", finishedAt, outcome, entries, deliveries };
}

export function toFailure(claim: Claim, { deliveries = [], ...failure }: RunFailure): RunEnd {
  return { claim, state: "dead", ...failure, deliveries };
}

/** Usage of the last step: that of the steps before is spent already. */
export function toUsed(outcome: TurnOutcome): Used {
  return { ...(outcome.lastStep ?? outcome), finishedAt: outcome.finishedAt };
}

/** The steps that are recorded with the end of a turn. */
export function stepsOfEnd({ outcome }: Pick<RunEnd, "outcome">): Step[] {
  const { notes = [], lastStep } = outcome ?? {};
  return lastStep ? [...notes, lastStep] : notes;
}

export function reportsOfEnd({ claim: { id }, state }: RunEnd, eventId: string | undefined): ChangeReport[] {
  const ended: ChangeReport = { kind: "run", id, eventId, state };
  return state === "done" ? [ended] : [ended, { kind: "dead-letter", id, eventId, isDead: true }];
}
