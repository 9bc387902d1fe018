import type { ApprovalDraft, StepStore, Waiting } from "../actions/steps.ts";
import { toQuestionText } from "../approvals/question.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import { NotConfigured } from "../errors.ts";
import type { ClaimedRun, NewApproval, NewDelivery, Run, Step } from "../journal/journal.ts";
import { createId } from "../shared/id.ts";
import { QUESTION_HOLDS } from "../types.ts";
import type { DispatchContext } from "./context.ts";
import { isClaimHeld, isForOthers } from "./retry.ts";

/** How long a question waits without `agents.approvals`. */
const DEFAULT_EXPIRY_MS = 4 * 3_600_000;

/** How far back the replays of an event are followed. */
const MAX_REPLAYS = 10;

/** Holds a run until a person has decided. False if the claim is lost. */
export async function suspendRun(run: ClaimedRun, waiting: Waiting, context: DispatchContext): Promise<boolean> {
  const { journal, telemetry } = context;
  const { steps, drafts, open, isUnknown } = waiting;
  const asked = await toApprovals(drafts, run, context);
  const reason = isUnknown ? QUESTION_HOLDS.outcome : QUESTION_HOLDS.approval;
  const isRecorded = await journal.holdRun(run, reason, { steps, asked, open });
  const fields = { step: "turn", runId: run.id, eventId: run.eventId, hook: run.hook };
  if (isRecorded) telemetry.log.info("run held: a person is asked", { ...fields, reason, questions: asked.length });
  for (const { kind } of isRecorded ? asked : []) telemetry.activity.asked(kind);
  telemetry.activity.turned({ result: "held", ms: 0 });
  return isRecorded;
}

/** Gives questions a code, a time, and the message that asks. */
export async function toApprovals(
  drafts: readonly ApprovalDraft[],
  run: Pick<Run, "id" | "eventId" | "hook" | "mapping">,
  context: DispatchContext,
): Promise<NewApproval[]> {
  if (drafts.length === 0) return [];
  const codes = await context.journal.reserveCodes(drafts.length);
  const earlier = drafts.some(({ kind }) => kind === "call") ? await findEarlierCalls(run, context) : [];
  return Promise.all(
    drafts.map((draft, index) => {
      const isCall = draft.kind === "call" && earlier.length > 0;
      return toApproval({ ...draft, ...(isCall && { earlier }) }, codes[index] ?? "", run, context);
    }),
  );
}

async function toApproval(
  draft: ApprovalDraft & Pick<NewApproval, "earlier">,
  code: string,
  { id: runId, eventId, hook, mapping = "" }: Pick<Run, "id" | "eventId" | "hook" | "mapping">,
  context: DispatchContext,
): Promise<NewApproval> {
  const askedAt = Date.now();
  const { approvals } = context.current().config.agents;
  const expiresAt = draft.kind === "outcome" ? undefined : askedAt + (approvals?.expiresMs ?? DEFAULT_EXPIRY_MS);
  const approval: NewApproval = {
    ...draft,
    id: createId(),
    code,
    runId,
    eventId,
    hook,
    mapping,
    askedAt,
    ...(expiresAt !== undefined && { expiresAt }),
  };
  return { ...approval, ...(await toMessage(approval, context)) };
}

/** Nothing if nobody is asked in a channel. */
async function toMessage(
  approval: NewApproval,
  { current }: DispatchContext,
): Promise<Pick<NewApproval, "question" | "onlyOnPage">> {
  const { channels, config } = current();
  const { approvals } = config.agents;
  const channel = channels.get(approvals?.channel ?? "");
  if (!approvals || !channel) return {};
  const { id, kind, code, runId, eventId, hook = "", mapping, sources, earlier, expiresAt } = approval;
  const { publicUrl } = config.gateway;
  const [delivery] = approval.deliveries ?? [];
  const question = {
    kind,
    code,
    call: approval.call,
    arguments: approval.arguments,
    reply: delivery && { channel: delivery.channel, to: delivery.to, text: delivery.text },
    mapping: mapping || hook,
    sources,
    earlier,
    endsAt: expiresAt,
    link: publicUrl && `${publicUrl}/#/approvals/${id}`,
  };
  const { text, canAnswer } = await toQuestionText(question, channel);
  const own = { id: createId(), runId, eventId, channel: approvals.channel, to: approvals.to };
  const asking: NewDelivery = { ...own, text, isQuestion: true };
  return { question: asking, ...(!canAnswer && { onlyOnPage: true }) };
}

/** The calls that may have been executed in the runs of the event that this one replays. */
async function findEarlierCalls({ eventId }: Pick<Run, "eventId">, { journal }: DispatchContext): Promise<string[]> {
  const calls = new Set<string>();
  let id = eventId && (await journal.getEvent(eventId))?.replayOf;
  for (let count = 0; id !== undefined && count < MAX_REPLAYS; count++) {
    const event = await journal.getEvent(id);
    for (const { steps = [] } of event?.runs ?? []) {
      for (const { call, callId, state } of steps) {
        if (call !== undefined && callId !== undefined && state !== "waiting" && state !== "failed") calls.add(call);
      }
    }
    id = event?.replayOf;
  }
  return [...calls];
}

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
