import type { AgentAction, HookAction } from "../types.ts";
import type { Budget } from "./budget.ts";
import type { CompiledMapping } from "./compiled-mapping.ts";
import { toKey } from "./to-key.ts";

/**
 * What one unit became, each agent action with the key that it coalesces under; none where the key is blank. Several
 * actions of one unit are about different things: they are told apart by their number. A wake needs no key, as a
 * heartbeat takes all that are pending.
 */
export function coalesceActions(
  actions: HookAction[],
  { coalesce }: CompiledMapping,
  { context, budget }: { context: object; budget: Budget },
): HookAction[] {
  const key = toKey(coalesce?.key.render(context, budget));
  if (!coalesce || key === undefined) return actions;
  const { windowMs } = coalesce;
  return actions.map((action, index) =>
    withKey(action, { key: index === 0 ? key : `${key}#${index + 1}`, windowMs }),
  );
}

function withKey(action: HookAction, coalesce: AgentAction["coalesce"]): HookAction {
  return action.kind === "agent" ? { ...action, coalesce } : action;
}
