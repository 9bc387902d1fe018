import { DriverError, messageOf, NotConfigured } from "../errors.ts";
import type { OfferedChange } from "../ports/agent.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import type { Approval, ApprovalUse, Step } from "../journal/journal.ts";
import { hashJson } from "../shared/hash.ts";
import { toolSetOf } from "../shared/text/text.ts";
import { basisOf, CALL_RULES, type PlannedCall, type PlanOptions } from "./call-rules.ts";
import {
  type TurnQuestion,
  ClaimLost,
  inCallSpan,
  recordSteps,
  type StepStore,
  Suspended,
  toResultText,
} from "./steps.ts";

/*
 * Calls that change something. Each is recorded before it is sent and after it is answered, so that after a crash nothing is
 * sent twice: a call that was sent and has no result is repeated only if its grant says so, or a person does.
 */

export interface EffectContext extends Pick<PlanOptions, "rules" | "sources"> {
  /** The grants as they are written in the configuration in use: what an approval depends on. */
  written: MappingInput["grants"];
  steps?: StepStore;
  /** Aborts when the service stops. */
  signal: AbortSignal;
}

/** Executes calls of an answer in their order. Rejects with `Suspended`, after what needs nobody is done. */
export async function executeEffects(
  calls: PlannedCall[],
  { answer, isResumed, ...context }: EffectContext & { answer: Step; isResumed: boolean },
): Promise<Step[]> {
  const { steps: store } = context;
  // A turn without steps has grants to read only.
  if (!store) throw new ClaimLost();
  const last = answer.n + (answer.answer?.calls.length ?? 0);
  const all = isResumed ? await store.approvals() : [];
  const asked = all.filter(({ step }) => step > answer.n && step <= last);
  const state: State = {
    context: { ...context, steps: store },
    change: answer.answer?.change,
    asked,
    done: [],
    waiting: { steps: [], drafts: [], open: [], isUnknown: false },
    unknownAt: Math.min(...asked.filter(isOfUnknown).map(({ step }) => step)),
  };
  for (const call of calls) await advance(call, state);
  const { waiting, done } = state;
  if (waiting.drafts.length + waiting.open.length > 0) throw new Suspended(waiting);
  return done;
}

interface State {
  context: EffectContext & { steps: StepStore };
  /** The change that the only call publishes, if the service makes it of an agent's files. */
  change: OfferedChange | undefined;
  /** The questions about calls of this answer, oldest first. */
  asked: Approval[];
  done: Step[];
  waiting: Suspended["waiting"];
  /** The first call whose outcome is or was unknown. No later one is sent. */
  unknownAt: number;
}

function isOfUnknown({ kind, state }: Approval): boolean {
  return kind === "outcome" && state !== "withdrawn";
}

async function advance(call: PlannedCall, state: State): Promise<void> {
  const { n, known, granted } = call;
  if (n > state.unknownAt)
    return refuse(call, state, "it is not known whether an earlier call of this answer was executed");
  if (known?.state === "started" || known?.state === "unknown") return settle(call, known, state);
  const question = findQuestion(state, "call", n);
  if (question) return answerTo(call, question, state);
  if (granted && CALL_RULES.needsPerson(granted, state.context.sources)) return ask(call, state);
  return send(call, state);
}

function findQuestion({ asked }: State, kind: Approval["kind"], step: number): Approval | undefined {
  return asked.findLast((one) => one.kind === kind && one.step === step);
}

function ask(call: PlannedCall, { context, waiting }: State): void {
  const { n, name: callName, granted } = call;
  const args = call.arguments ?? {};
  const hash = hashOf(callName, args);
  const basis = granted && basisOf(granted.call, context.written);
  const draft = { step: n, call: callName, arguments: args, hash, sources: [...context.sources] };
  waiting.drafts.push({ kind: "call", ...draft, ...describeCall(granted), basis });
  waiting.steps.push({ ...toStep(call, context), state: "waiting" });
}

/** For the person who decides: the set may change before they look. */
function describeCall(granted: PlannedCall["granted"]): Pick<Approval, "fixed" | "description" | "address"> {
  if (!granted) return {};
  const fixed = Object.keys(granted.fixed);
  const { description, address } = granted.call;
  return { description, address, ...(fixed.length > 0 && { fixed }) };
}

/** Does what was decided about a call. */
async function answerTo(call: PlannedCall, question: Approval, state: State): Promise<void> {
  const { reason, decision, by } = question;
  if (question.state === "open") {
    state.waiting.open.push(question.id);
  } else if (question.state === "approved") {
    // An earlier call that waits comes first.
    if (state.waiting.open.length + state.waiting.drafts.length > 0) return;
    const problem = await findChange(call, question, state);
    if (problem === undefined) await send(call, state, { id: question.id, state: "used" }, toVerdict(question));
    else await refuse(call, state, problem);
  } else if (question.state === "expired") {
    await refuse(call, state, "nobody has answered in time");
  } else if (question.state === "denied") {
    await refuse(call, state, by === undefined ? (reason ?? "nobody could be asked") : toDenial(reason), {
      decision,
      by,
    });
  } else {
    await refuse(call, state, "the question was withdrawn");
  }
}

function toDenial(reason: string | undefined): string {
  return reason === undefined ? "a person has denied it" : `a person has denied it: ${reason.replace(/\.$/, "")}`;
}

function toVerdict({ decision, by }: Pick<Approval, "decision" | "by">): Pick<Step, "decided"> {
  return decision === undefined || by === undefined ? {} : { decided: { decision, by } };
}

/** The tests of injections replace them. */
export const EFFECT_RULES = {
  /** An approval is for these arguments, as they were granted then. */
  isAsApproved: (question: Approval, { basis, hash }: Pick<Approval, "basis" | "hash">): boolean =>
    basis !== undefined && basis === question.basis && hash === question.hash,
};

/** Why an approval cannot be used any more. Rejects with `NotConfigured` if another node may know it as it was asked. */
async function findChange(
  { granted, name, arguments: args }: PlannedCall,
  question: Approval,
  { context }: State,
): Promise<string | undefined> {
  const basis = granted && basisOf(granted.call, context.written);
  if (EFFECT_RULES.isAsApproved(question, { basis, hash: hashOf(name, args) })) return undefined;
  if (await context.steps.isDisputed()) throw new NotConfigured(`${name} differs from what was approved on this node`);
  return CHANGED;
}

const CHANGED = "the approval was withdrawn, because its grant, its tool set or the call has changed since";

/** A call that was sent and has no result. */
async function settle(call: PlannedCall, known: Step, state: State): Promise<void> {
  const { n, granted, name } = call;
  const question = findQuestion(state, "outcome", n);
  const isSame = granted !== undefined && known.hash === hashOf(name, call.arguments);
  if (known.state === "started" && granted?.grant.retry && isSame) return send(call, state);
  if (question?.state === "open") {
    state.waiting.open.push(question.id);
    state.waiting.isUnknown = true;
  } else if (question?.decision === "again" && question.state === "approved") {
    const use = { id: question.id, state: "used" } as const;
    if (isSame) await send(call, state, use, toVerdict(question));
    else await refuse(call, state, "the call is not granted any more");
  } else if (question?.decision === "done" && question.state === "approved") {
    const text = question.result ?? "It was executed, as a person says.";
    const uses = [{ id: question.id, state: "used" as const }];
    await finish(known, { call, state }, { state: "done", text, ...toVerdict(question) }, uses);
  } else if (question?.state === "denied") {
    const text = "It is not known whether this call was executed, and nobody can find it out. Do not repeat it.";
    await finish(known, { call, state }, { state: "failed", text, ...toVerdict(question) });
  } else askOutcome(call, known, state);
}

function askOutcome({ n, name, granted }: PlannedCall, known: Step, state: State): void {
  const { waiting, context } = state;
  const { arguments: args, hash, startedAt } = known;
  const againAt = startedAt + (granted?.call.timeoutMs ?? UNKNOWN_TIMEOUT_MS);
  const draft: TurnQuestion = { kind: "outcome", step: n, call: known.call ?? name, sources: [...context.sources] };
  waiting.drafts.push({ ...draft, ...describeCall(granted), arguments: args, hash, againAt });
  waiting.steps.push({ ...known, state: "unknown" });
  waiting.isUnknown = true;
  state.unknownAt = Math.min(state.unknownAt, n);
}

/** The time limit of a call whose set is not configured any more, in milliseconds. */
const UNKNOWN_TIMEOUT_MS = 60_000;

/** Sends a call between the commit that says so and the commit of its result. */
async function send(
  call: PlannedCall,
  state: State,
  use?: ApprovalUse,
  verdict: Pick<Step, "decided"> = {},
): Promise<void> {
  const { context } = state;
  const { steps, signal, rules } = context;
  const { name, granted, arguments: args } = call;
  if (!granted) return refuse(call, state, "there is no such call");
  if (granted.call.dryRun) {
    const end = { state: "done", text: "not sent (dry run)", ...verdict } as const;
    return finish(toStep(call, context), { call, state }, end, use && [use]);
  }
  const started: Step = { ...toStep(call, context), ...verdict, state: "started" };
  await recordSteps([started], steps, use && [use]);
  if (!(await steps.isHeld())) throw new ClaimLost();
  const { change } = state;
  // Before it: an event about the branch may come before the answer.
  if (change) await steps.keepChange(change, toBranchKeys(change));
  let result: Step;
  let withdrawn: ApprovalUse[] = [];
  try {
    const sent = await inCallSpan(`${rules.runId}/${call.n}`, name, (callId) =>
      granted.call.call(args, {
        signal,
        callId,
        isRepeatable: granted.grant.retry === true,
        sign: steps.sign,
        ...(change && { change }),
      }),
    );
    const { published } = sent;
    if (sent.sent?.messageId !== undefined) await steps.keepMessage(toolSetOf(name), sent.sent);
    if (change && published) {
      const { branch, to } = published;
      const pushed = { ...change, arguments: { ...change.arguments, branch } };
      await steps.keepChange(pushed, [...toBranchKeys(change, branch), to], to);
    }
    const sources = CALL_RULES.sourcesOf(granted.call);
    const text = toResultText(sent.text, name, rules);
    result = { ...started, state: sent.isError ? "failed" : "done", ...text, sources, finishedAt: Date.now() };
    if (published) result.pull = published.url;
    // Not sent: nothing was done with the approval.
    if (sent.isChanged) {
      result.refused = true;
      withdrawn = use ? [{ id: use.id, state: "withdrawn", reason: CHANGED }] : [];
    }
  } catch (error) {
    signal.throwIfAborted();
    // The attempt is repeated with the same call id, after a wait.
    if (granted.grant.retry) throw new DriverError(`${name}: ${messageOf(error)}`, { retryable: true });
    return askOutcome(call, started, state);
  }
  if (!(await steps.record([result], withdrawn))) {
    await steps.settle(result);
    throw new ClaimLost();
  }
  state.done.push(result);
}

/** The keys that presets give events about a branch, or about a commit alone. */
function toBranchKeys({ pushTo, arguments: args }: OfferedChange, branch = args.branch): string[] {
  const place = pushTo ?? args.repository;
  return [
    `${place}:${branch}`,
    `${place}:${args.commit}`,
    ...(pushTo === undefined ? [] : [`${args.repository}:${args.commit}`]),
  ];
}

/** An answer to the model instead of the call. Questions to a person about the call are over. */
async function refuse(
  call: PlannedCall,
  state: State,
  reason: string,
  verdict: Pick<Approval, "decision" | "by"> = {},
): Promise<void> {
  const uses = state.asked.filter((one) => one.step === call.n && (one.state === "open" || one.state === "approved"));
  const end = { state: "failed", text: `Not sent: ${reason}.`, ...toVerdict(verdict) } as const;
  const isKnown = call.known !== undefined || state.asked.some(({ step }) => step === call.n);
  await finish(
    { ...toStep(call, state.context), ...(!isKnown && { refused: true }) },
    { call, state },
    end,
    uses.map(({ id }) => ({ id, state: "withdrawn", reason })),
  );
}

async function finish(
  step: Omit<Step, "state">,
  { call, state: { context, done } }: { call: PlannedCall; state: State },
  { text = "", ...end }: Pick<Step, "state" | "text" | "decided">,
  uses?: ApprovalUse[],
): Promise<void> {
  const result = { ...step, ...end, ...toResultText(text, call.name, context.rules), finishedAt: Date.now() };
  await recordSteps([result], context.steps, uses);
  done.push(result);
}

function toStep(call: PlannedCall, { rules }: EffectContext): Omit<Step, "state"> {
  const { n, name, requested, arguments: args } = call;
  const ids = { toolCallId: requested.toolCallId, callId: `${rules.runId}/${n}`, hash: hashOf(name, args) };
  return { n, kind: "call", call: name, arguments: args, ...ids, sources: [], startedAt: Date.now() };
}

function hashOf(name: string, args: unknown): string {
  return hashJson([name, args]);
}
