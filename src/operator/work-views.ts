import {
  type MessageWord,
  type StepWord,
  toMessageWord,
  toStepWord,
  toTurnWord,
  type TurnWord,
} from "../core/shared/words.ts";
import type { Delivery, FailedAttempt, Run, Step } from "../core/journal/journal.ts";
import { toView, type View } from "./iso-times.ts";
import { type AgentActionView, toActionView } from "./trial.ts";

/* Turns with their steps, and messages. */

export type RunView = Omit<View<Run>, "state" | "action" | "steps" | "failedAttempts"> & {
  state: TurnWord;
  /** The subject of its event, in lists. */
  subject?: string;
  /** The open question that holds it. */
  approvalId?: string;
  action?: AgentActionView;
  steps?: StepView[];
  failedAttempts?: FailedAttemptView[];
};

export type DeliveryView = Omit<View<Delivery>, "state" | "failedAttempts"> & {
  state: MessageWord;
  failedAttempts?: FailedAttemptView[];
};

type FailedAttemptView = View<FailedAttempt>;

/** Without `answer`: only the driver reads it, to continue from. */
type StepView = View<Omit<Step, "state" | "answer" | "boundary" | "late">> & { state: StepWord; late?: LateView };

/** A result that came after a person had decided without it. */
interface LateView {
  state: StepWord;
  text?: string;
  finishedAt?: string;
}

export function toRunView({ action, steps, failedAttempts, ...run }: Run): RunView {
  return {
    ...toView({ ...run, state: toTurnWord(run.state) }),
    ...(run.usage === undefined && steps && toUsed(steps)),
    ...(action && { action: toActionView(action) }),
    steps: steps?.map(toStepView),
    failedAttempts: failedAttempts?.map(toView),
  };
}

/** The tokens and the cost of the steps of a turn that has not ended. */
export function toUsed(steps: readonly Step[]): Pick<Run, "usage" | "cost"> {
  const answers = steps.flatMap(({ usage, cost }) => (usage ? [{ usage, cost }] : []));
  if (answers.length === 0) return {};
  const sum = (values: (number | undefined)[]): number | undefined =>
    values.every((value) => value === undefined) ? undefined : values.reduce<number>((all, one = 0) => all + one, 0);
  return {
    usage: {
      inputTokens: sum(answers.map(({ usage }) => usage.inputTokens)),
      outputTokens: sum(answers.map(({ usage }) => usage.outputTokens)),
    },
    cost: sum(answers.map(({ cost }) => cost)),
  };
}

export function toDeliveryView({ failedAttempts, ...delivery }: Delivery): DeliveryView {
  const state = toMessageWord(delivery.state);
  return { ...toView({ ...delivery, state }), failedAttempts: failedAttempts?.map(toView) };
}

export type RunTimeline = RunView & { steps: StepView[] };

export function toRunTimeline(run: Run, steps: Step[]): RunTimeline {
  return { ...toRunView({ ...run, steps }), steps: steps.map(toStepView) };
}

function toStepView({ late, ...step }: Step): StepView {
  return {
    ...toView({ ...step, state: toStepWord(step.state), answer: undefined, boundary: undefined }),
    ...(late && { late: toView({ ...late, state: toStepWord(late.state) }) }),
  };
}
