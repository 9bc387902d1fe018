import type { ClaimedDelivery } from "./delivery.ts";
import type { ClaimedRun } from "./run.ts";

/** A run or delivery that is executed alone, so that the end of the process says something about it. */
export type Suspect = { kind: "run"; work: ClaimedRun } | { kind: "delivery"; work: ClaimedDelivery };

/**
 * running: its node gives signs of life · over: the process was stopped, or went on without its suspect · ended: no sign of
 * life came any more
 */
export type LifeState = "running" | "over" | "ended";

/** How long processes have lived with a suspect and without it, since its first interruption, of at most a day. */
export interface Survival {
  /** How often the process ended while the suspect was alone, and the longest time until then. */
  alone: number;
  longestMs: number;
  /** How often a process ended while something else or nothing was executed, and how long they all lived so. */
  otherEnds: number;
  otherMs: number;
}
