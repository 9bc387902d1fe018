import type { ResolvedConfig } from "../config/types.ts";
import type { ClaimedRun, Journal, Spend } from "../journal/journal.ts";
import { startOfDay, HOUR_MS } from "../shared/time.ts";
import { listTargets, MAIN_SESSION } from "../types.ts";

/** What `webhooks runs release --reason` takes. */
const HOLD_REASONS = { day: "budget: perDay", session: "budget: perSession", loop: "loop: perSession" } as const;
type HoldReason = (typeof HOLD_REASONS)[keyof typeof HOLD_REASONS];

export interface HoldGuard {
  /** Why the run must not start; undefined if it may. */
  findHold(run: ClaimedRun): Promise<HoldReason | undefined>;
  /** Whether a heartbeat may run. */
  allowsHeartbeat(): Promise<boolean>;
  /** Releases held runs when another day has begun or the budget has changed: each is checked again. False if neither. */
  recheck(): Promise<boolean>;
}

/** Holds runs while `agents.budget` is spent, and those of a session that answers its source too often. */
export function createHoldGuard(
  journal: Pick<Journal, "spend" | "countReplies" | "releaseHeld">,
  current: () => { config: Pick<ResolvedConfig, "agents" | "limits"> },
): HoldGuard {
  let checkedFor: string | undefined;

  return {
    async findHold({ sessionKey, released, action }) {
      if (released) return undefined;
      if (listTargets(action).some(({ toSource }) => toSource) && (await loops(sessionKey))) return HOLD_REASONS.loop;
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

  /** A reply may lead to another event of its session, without end. */
  async function loops(sessionKey: string): Promise<boolean> {
    return (await journal.countReplies(sessionKey, Date.now() - HOUR_MS)) >= current().config.limits.perSession;
  }

  async function findSpent(sessionKey: string): Promise<HoldReason | undefined> {
    const { perDay = Infinity, perSession = Infinity, unit = "cost" } = current().config.agents.budget ?? {};
    const since = startOfDay();
    if (perDay < Infinity && total(await journal.spend({ since }), unit) >= perDay) return HOLD_REASONS.day;
    if (perSession === Infinity) return undefined;
    return total(await journal.spend({ since, sessionKey }), unit) >= perSession ? HOLD_REASONS.session : undefined;
  }
}

/** What was spent today, and how many runs are held, at most 1000. Undefined without a budget. */
export async function readBudget(
  journal: Pick<Journal, "spend" | "listRuns">,
  { budget }: Pick<ResolvedConfig["agents"], "budget">,
): Promise<BudgetStatus | undefined> {
  if (!budget) return undefined;
  const spentToday = total(await journal.spend({ since: startOfDay() }), budget.unit);
  const held = await journal.listRuns({ state: "held", limit: 1000 });
  const heldRuns = held.filter(({ holdReason }) => HOLD_REASONS_OF_BUDGET.includes(holdReason)).length;
  return { ...budget, spentToday, heldRuns };
}

const HOLD_REASONS_OF_BUDGET: readonly unknown[] = [HOLD_REASONS.day, HOLD_REASONS.session];

export interface BudgetStatus {
  unit: "cost" | "tokens";
  perDay?: number;
  perSession?: number;
  /** Since 00:00 UTC. */
  spentToday: number;
  heldRuns: number;
}

function total(spend: Spend[], unit: "cost" | "tokens"): number {
  return spend.reduce((sum, row) => sum + (unit === "cost" ? row.cost : row.inputTokens + row.outputTokens), 0);
}
