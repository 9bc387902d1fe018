import type { MappingSource, ResolvedConfig } from "../../config/types.ts";

/** What one event of a mapping costs. */
export interface ModelCalls {
  mapping: string;
  /** Turns of the agent; with `forEach`, of each item. */
  turns: 0 | 1;
  perItem: boolean;
  /** now: a heartbeat, which all events of the join window share. later: it is part of the next periodic one. */
  heartbeat: "now" | "later";
}

/** By mapping, as far as the configuration says it: a transform may return other actions. */
export function countModelCalls({ hooks }: Pick<ResolvedConfig, "hooks">): ModelCalls[] {
  return hooks.mappings.map(toModelCalls);
}

function toModelCalls({ id, mapping }: MappingSource): ModelCalls {
  const { action = "agent", agent, forEach, wakeMode } = mapping;
  return {
    mapping: id,
    turns: action === "wake" || agent === "none" ? 0 : 1,
    perItem: forEach !== undefined,
    // A template may say either.
    heartbeat: wakeMode === "next-heartbeat" ? "later" : "now",
  };
}

/** A line for all mappings that cost the same. Nothing without a provider: `echo` costs nothing. */
export function describeModelCalls({ hooks, agents }: Pick<ResolvedConfig, "hooks" | "agents">): string[] {
  if (Object.keys(agents.providers).length === 0) return [];
  const { joinMs } = agents.heartbeat;
  const groups = Map.groupBy(countModelCalls({ hooks }), (calls) => describe(calls, joinMs));
  return [...groups].map(
    ([cost, mappings]) => `model calls of an event: ${cost} (${mappings.map(({ mapping }) => mapping).join(", ")})`,
  );
}

function describe({ turns, perItem, heartbeat }: ModelCalls, joinMs: number): string {
  const turn = turns === 0 ? [] : [perItem ? "1 for each item" : "1"];
  const shared = joinMs === 0 ? "" : `, which all within ${joinMs / 1000} s share`;
  const told = heartbeat === "now" ? [`1 for the heartbeat${shared}`] : [];
  return [...turn, ...told].join(", ") || "none by itself";
}
