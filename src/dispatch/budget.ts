import type { ResolvedConfig } from "../config/types.ts";
import type { ClaimedRun, Journal, Spend } from "../journal/journal.ts";
import { startOfDay } from "../shared/duration.ts";
import { MAIN_SESSION } from "../types.ts";

/** What `webhooks runs release --reason` takes. */
const HOLD_REASONS = { day: "budget: perDay", session: "budget: perSession" } as const;
type HoldReason = (typeof HOLD_REASONS)[keyof typeof HOLD_REASONS];

export interface BudgetGuard {
  /** Why the run must not start; undefined if it may. */
  findHold(run: ClaimedRun): Promise<HoldReason | undefined>;
  /** Whether a heartbeat may run. */
  allowsHeartbeat(): Promise<boolean>;
  /** Releases held runs when another day has begun or the budget has changed: each is checked again. */
  recheck(): Promise<void>;
}

/** Holds runs while `agents.budget` is spent. A run in progress is never stopped. */
export function createBudgetGuard(
  journal: Pick<Journal, "spend" | "releaseHeld">,
  settings: () => Pick<ResolvedConfig["agents"], "budget">,
): BudgetGuard {
  let checkedFor: string | undefined;

  return {
    async findHold({ sessionKey, released, action }) {
      return released || action.agent === "none" ? undefined : findSpent(sessionKey);
    },
    allowsHeartbeat: async () => (await findSpent(MAIN_SESSION)) === undefined,
    async recheck() {
      const now = `${startOfDay()} ${JSON.stringify(settings().budget)}`;
      if (now === checkedFor) return;
      for (const reason of Object.values(HOLD_REASONS)) await journal.releaseHeld({ reason });
      checkedFor = now;
    },
  };

  async function findSpent(sessionKey: string): Promise<HoldReason | undefined> {
    const { perDay = Infinity, perSession = Infinity, unit = "cost" } = settings().budget ?? {};
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
  return { ...budget, spentToday, heldRuns: (await journal.listRuns({ state: "held", limit: 1000 })).length };
}

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
