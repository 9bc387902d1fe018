import type { StepStore } from "../actions/steps.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import { NotConfigured } from "../errors.ts";
import type { ClaimedRun, Run, Step } from "../journal/journal.ts";
import type { DispatchContext } from "./context.ts";
import { isClaimHeld, isForOthers } from "./retry.ts";

/** The steps of a claimed run. `claimedAt` is a time of `performance.now()`. */
export function createStepStore(run: ClaimedRun & { claimedAt: number }, context: DispatchContext): StepStore {
  const { journal, telemetry } = context;
  return {
    list: () => journal.listSteps(run.id),
    async record(steps, uses) {
      const isRecorded = await journal.recordSteps(run, steps, uses);
      if (isRecorded) count(steps);
      return isRecorded;
    },
    approvals: async () => (await journal.listApprovals({ runId: run.id, limit: MAX_QUESTIONS })).toReversed(),
    isHeld: () => isClaimHeld(journal, run.claimedAt, () => journal.isClaimed(run)),
    async settle(result) {
      const isKept = await journal.settleCall(run.id, result);
      const fields = { runId: run.id, eventId: run.eventId, call: result.call, isKept };
      telemetry.log.warn("the result of a call came after its run was lost", fields);
    },
    isDisputed: () => isForOthers(new NotConfigured("the call differs"), context),
  };

  function count(steps: Step[]): void {
    for (const { kind, call = "", state } of steps) {
      if (kind !== "call" || state === "started") continue;
      const [set = ""] = context.current().tools.find(call)?.fullName.split(".", 1) ?? [];
      telemetry.activity.called({ set: set || undefined, result: state });
    }
  }
}

/** More than a run can ask. */
const MAX_QUESTIONS = 10_000;

/** The grants of a run's mapping, as they are written in the configuration in use. */
export function findWrittenGrants(
  { mapping }: Pick<Run, "mapping">,
  { config: { hooks } }: ReturnType<DispatchContext["current"]>,
): MappingInput["grants"] {
  if (mapping === undefined) return hooks.agent.grants;
  return hooks.mappings.find(({ id }) => id === mapping)?.mapping.grants;
}
