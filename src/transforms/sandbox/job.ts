import type { TransformBundle } from "../port.ts";
import type { Answer } from "./answer.ts";

/** One check or call, as it is asked for. */
export interface JobRequest {
  operation: "check" | "call";
  bundle: TransformBundle;
  /** Names the module version together with its limits: what a child keeps an isolate for. */
  module: string;
  /** The input as JSON, as it crosses. */
  text: string;
  body: Buffer;
  timeoutMs: number;
  /** True: it runs alone, in one child at a time, so that nobody waits behind it. */
  suspect: boolean;
}

/** The same on its way through the pool. */
export interface Job extends JobRequest {
  /** In milliseconds of `performance.now()`. */
  queuedAt: number;
  /** Children that ended by themselves while it ran in them. */
  deaths: number;
  settle(answer: Answer): void;
}
