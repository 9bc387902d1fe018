import type { ResolvedConfig } from "../config/resolved-config.ts";
import type { ClaimedRun, Journal, Spend } from "../journal/journal.ts";
import { startOfDay, HOUR_MS } from "../shared/time.ts";
import { type ChannelName, listTargets, MAIN_SESSION } from "../types.ts";

/** Reasons that `webhooks runs release --reason` takes. */
const HOLD_REASONS = { day: "budget: perDay", session: "budget: perSession", loop: "loop" } as const;
type HoldReason = (typeof HOLD_REASONS)[keyof typeof HOLD_REASONS];

export interface HoldGuard {
  /** Why the run must not start; undefined if it may. */
  findHold(run: ClaimedRun): Promise<HoldReason | undefined>;
  /** Whether a heartbeat may run. */
  allowsHeartbeat(): Promise<boolean>;
  /** Releases held runs when another day has begun or the budget has changed: each is checked again. False if neither. */
  recheck(): Promise<boolean>;
}

/**
 * Holds runs while `agents.budget` is spent, and those that would answer someone too often. `inProgress`: the claimed runs of
 * this node, in the order of their claims.
 */
export function createHoldGuard(
  journal: Pick<Journal, "spend" | "listAnswers" | "releaseHeld">,
  current: () => { config: Pick<ResolvedConfig, "agents" | "limits"> },
  inProgress: () => Iterable<ClaimedRun>,
): HoldGuard {
  let checkedFor: string | undefined;

  return {
    async findHold(run) {
      const { sessionKey, released, action } = run;
      if (released) return undefined;
      if (await loops(run)) return HOLD_REASONS.loop;
      return action.agent === "none" ? undefined : findSpent(sessionKey);
    },
    allowsHeartbeat: async () => (await findSpent(MAIN_SESSION)) === undefined,
    async recheck() {
      const now = `${startOfDay()} ${JSON.stringify(current().config.agents.budget)}`;
      if (now === checkedFor) return false;
      for (const reason of [HOLD_REASONS.day, HOLD_REASONS.session]) await journal.releaseHeld({ reason });
      checkedFor = now;
      return true;
    },
  };

  /** An answer may lead to another event, without end, and the other side chooses the session and the thread of that event. */
  async function loops(run: ClaimedRun): Promise<boolean> {
    const target = findAnswered(run);
    if (!target) return false;
    const { channel, addressee } = target;
    const answering = new Set(listBefore(run, target));
    for (const runId of await journal.listAnswers(channel, addressee, Date.now() - HOUR_MS)) answering.add(runId);
    return answering.size >= current().config.limits.perRecipient;
  }

  /** Runs claimed earlier that may answer the same addressee, and have not yet. */
  function listBefore(run: ClaimedRun, { channel, addressee }: Answered): string[] {
    const claimed = [...inProgress()];
    const earlier = claimed.slice(0, Math.max(0, claimed.indexOf(run)));
    return earlier.flatMap((other) => {
      const target = findAnswered(other);
      return target?.channel === channel && target.addressee === addressee ? other.id : [];
    });
  }

  async function findSpent(sessionKey: string): Promise<HoldReason | undefined> {
    const { perDay = Infinity, perSession = Infinity, unit = "cost" } = current().config.agents.budget ?? {};
    const since = startOfDay();
    if (perDay < Infinity && total(await journal.spend({ since }), unit) >= perDay) return HOLD_REASONS.day;
    if (perSession === Infinity) return undefined;
    return total(await journal.spend({ since, sessionKey }), unit) >= perSession ? HOLD_REASONS.session : undefined;
  }
}

interface Answered {
  channel: ChannelName;
  addressee: string;
}

/** Who gets the answer of a run at the place of its event. */
function findAnswered({ action }: ClaimedRun): Answered | undefined {
  const source = listTargets(action).find(({ toSource }) => toSource);
  return source?.addressee === undefined ? undefined : { channel: source.channel, addressee: source.addressee };
}

/** Usage of today in the budget's unit, and the number of held runs, at most 1000. Undefined without a budget. */
export async function readBudget(
  journal: Pick<Journal, "spend" | "listRuns">,
  { budget, currency }: Pick<ResolvedConfig["agents"], "budget" | "currency">,
): Promise<BudgetStatus | undefined> {
  if (!budget) return undefined;
  const spentToday = total(await journal.spend({ since: startOfDay() }), budget.unit);
  const held = await journal.listRuns({ state: "held", limit: 1000 });
  const heldRuns = held.filter(({ holdReason }) => HOLD_REASONS_OF_BUDGET.includes(holdReason)).length;
  return { ...budget, ...(budget.unit === "cost" && { currency }), spentToday, heldRuns };
}

const HOLD_REASONS_OF_BUDGET: readonly unknown[] = [HOLD_REASONS.day, HOLD_REASONS.session];

export interface BudgetStatus {
  unit: "cost" | "tokens";
  /** That of costs, if the configuration names it. */
  currency?: string;
  perDay?: number;
  perSession?: number;
  /** Since 00:00 UTC. */
  spentToday: number;
  heldRuns: number;
}

function total(spend: Spend[], unit: "cost" | "tokens"): number {
  return spend.reduce((sum, row) => sum + (unit === "cost" ? row.cost : row.inputTokens + row.outputTokens), 0);
}
