import type { Run } from "../journal/port.ts";
import type { AgentAction } from "../types.ts";
import type { Origin } from "./boundary.ts";

/** A run of an agent action, as against a heartbeat's. */
export type HookRun = Run & { action: AgentAction };

/** A claimed run always has an action: heartbeats are recorded, never claimed. */
export function requireHookRun(run: Run): HookRun {
  const { action } = run;
  if (!action) throw new Error(`run ${run.id} was claimed and has no action`);
  return { ...run, action };
}

/** Where the untrusted text of a run came from. */
export function originOf(run: HookRun): Origin {
  const hook = run.hook ?? run.action.name;
  return { source: `webhook ${hook}`, hook };
}
