import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type { TransformBundle } from "../runner.ts";
import type { Answer, FailedAnswer } from "./answer.ts";
import type { Progress } from "./protocol.ts";

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

/** How a child ended, and what it leaves behind. */
export interface ChildEnd {
  reason: FailedAnswer;
  /** True where the job that ran is to blame for certain; else an earlier one may have spoilt the process. */
  blamed: boolean;
  /** False where it never came to be ready. */
  wasReady: boolean;
  running: Job | undefined;
  /** Jobs it was given and had not begun. */
  waiting: Job[];
}

export interface ChildOptions {
  process: ChildProcessWithoutNullStreams;
  progress: Progress;
  quarantine: boolean;
  /** How many modules it may hold. */
  maxModules: number;
  /** The code of the realm. */
  realm: string;
  /** It may take a job that it could not take before. */
  onFree(): void;
  onEnd(end: ChildEnd): void;
}

/** A sandbox process as the supervisor sees it. It carries out what it is given in order. */
export interface ChildHandle {
  /** True where jobs go that nobody should have to wait for. */
  isQuarantine: boolean;
  isReady(): boolean;
  /** True while the job that runs takes so long that what waits behind it is better off elsewhere. */
  isSlow(): boolean;
  /** True while nobody should be put behind the job that runs. */
  isHeld(): boolean;
  /** How many jobs it was given and has not answered. */
  backlog(): number;
  /** How long a job would wait for those before it, in milliseconds, at the pace of the last ones. */
  expectedWait(): number;
  give(job: Job): void;
  /** Takes back what has not begun. */
  takeBack(): Job[];
  /** Counts time for the job that runs, and ends the child where that is over its limits. */
  tick(elapsedMs: number): void;
  /** True once it has grown or served so much that a fresh one is better. */
  isWorn(): boolean;
  /** Takes no more jobs, and ends once it has answered those it has. */
  retire(): void;
  /** Forgets modules that were not used for long. */
  tidy(): void;
  kill(): void;
  /** Resolves once the process is gone. */
  readonly ended: Promise<void>;
}
