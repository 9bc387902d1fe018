import type { TransformBundle } from "../port.ts";
import type { Answer } from "./answer.ts";

/**
 * proven: the module has answered before · untried: it has not · suspect: it failed hard again and again. Only proven
 * jobs run where others wait behind them; suspects come last.
 */
export type Trust = "proven" | "untried" | "suspect";

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
  trust: Trust;
}

/** The same on its way through the pool. */
export interface Job extends JobRequest {
  /** In milliseconds of `performance.now()`. */
  queuedAt: number;
  /** Children that ended by themselves while it ran in them. */
  deaths: number;
  settle(answer: Answer): void;
}
