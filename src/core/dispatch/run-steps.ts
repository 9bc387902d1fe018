import { toStartedBy } from "../shared/author.ts";
import { toolSetOf } from "../shared/text/text.ts";
import type { TurnContext } from "../actions/agent-turn.ts";
import type { StepStore, Waiting } from "../actions/steps.ts";
import { type Answering, findAnswering } from "../approvals/answering.ts";
import { toApprovals } from "../approvals/ask.ts";
import type { ChannelDriver } from "../ports/channel.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import type { ClaimedRun, Run, Step } from "../journal/journal.ts";
import { QUESTION_HOLDS } from "../types.ts";
import type { DispatchContext } from "./dispatch-context.ts";
import { haveOtherConfigurations, isClaimHeld } from "./retry.ts";

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
    isDisputed: () => haveOtherConfigurations(context),
    async keepChange({ account, arguments: { repository, base, branch, commit } }, keys, pull) {
      const { mapping = "", sessionKey, action } = run;
      const about = { sessionKey, mapping, model: action?.model };
      await journal.keepChange(keys, { ...about, account, repository, base, branch, pull, commit });
    },
    async keepMessage(channel, { to, messageId }) {
      if (messageId !== undefined) await journal.keepMessage({ channel, to, messageId, sessionKey: run.sessionKey });
    },
    sign: journal.sign,
  };

  function count(steps: Step[]): void {
    for (const { kind, call = "", state } of steps) {
      if (kind !== "call" || state === "started") continue;
      const set = toolSetOf(context.current().tools.find(call)?.fullName ?? "");
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

/** How people can answer the questions of a channel, by the configuration in use. */
export function answeringOf(
  channel: string,
  driver: ChannelDriver,
  { config: { agents, gateway, hooks }, drivers }: ReturnType<DispatchContext["current"]>,
): Answering {
  const { by = [] } = agents.approvals ?? {};
  const hooksUrl = gateway.hooksUrl === undefined ? undefined : gateway.hooksUrl + hooks.path;
  return findAnswering({ channel, driver, by, mappings: hooks.mappings, vendors: drivers.vendors, hooksUrl });
}

/** Names what a run asks a person, by the configuration in use. */
export function createAsk(
  { journal, current, telemetry }: DispatchContext,
  { mapping = "", action }: Pick<Run, "mapping" | "action"> = {},
): TurnContext["ask"] {
  return (drafts) => {
    const runtime = current();
    const { config, channels } = runtime;
    for (const { kind } of drafts) telemetry.activity.asked(kind);
    return toApprovals(drafts, {
      journal,
      settings: config.agents.approvals,
      channels,
      mapping,
      findAnswering: (channel, driver) => answeringOf(channel, driver, runtime),
      startedBy: action?.author && toStartedBy(action.author),
      publicUrl: config.gateway.publicUrl,
    });
  };
}

/** Holds a run until a person has decided. False if the claim is lost. */
export async function suspendRun(run: ClaimedRun, waiting: Waiting, context: DispatchContext): Promise<boolean> {
  const { journal, telemetry } = context;
  const { steps, drafts, open, isUnknown } = waiting;
  const { id: runId, eventId, hook } = run;
  const earlier = drafts.some(({ kind }) => kind === "call") ? await findEarlierCalls(run, context) : [];
  const ask = createAsk(context, run);
  const named = drafts.map((draft) => (draft.kind === "call" && earlier.length > 0 ? { ...draft, earlier } : draft));
  const asked = await ask(named.map((draft) => ({ ...draft, runId, eventId, hook })));
  const reason = isUnknown ? QUESTION_HOLDS.outcome : QUESTION_HOLDS.approval;
  const isRecorded = await journal.holdRun(run, reason, { steps, asked, open });
  const fields = { step: "turn", runId, eventId, hook, reason, questions: asked.length };
  if (isRecorded) telemetry.log.info("run held: a person is asked", fields);
  telemetry.activity.turned({ result: "held", ms: 0 });
  return isRecorded;
}

/** How far back the replays of an event are followed. */
const MAX_REPLAYS = 10;

/** The calls that may have been executed in the runs of the event that this one replays. */
async function findEarlierCalls({ eventId }: Pick<Run, "eventId">, { journal }: DispatchContext): Promise<string[]> {
  const calls = new Set<string>();
  let id = eventId && (await journal.getEvent(eventId))?.replayOf;
  for (let count = 0; id !== undefined && count < MAX_REPLAYS; count++) {
    const event = await journal.getEvent(id);
    const steps = event?.runs.flatMap((run) => run.steps ?? []) ?? [];
    for (const { call, callId, state } of steps) {
      const isSent = callId !== undefined && state !== "waiting" && state !== "failed";
      if (isSent && call !== undefined) calls.add(call);
    }
    id = event?.replayOf;
  }
  return [...calls];
}
