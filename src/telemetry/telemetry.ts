import { type ConfigProblem, toSentence } from "../errors.ts";
import type { EventStatus } from "../types.ts";
import { createLog, type Log, type LogFields, type LogLevel, type LogOutput, silentLog } from "./log.ts";

/** Everything the service reports about itself. Names and fields carry ids, names and sizes, never content. */
export interface Telemetry {
  log: Log;
  /** Reports a step of what a request led to, once it is recorded. It is logged, unless `follower` shows it instead. */
  step(level: "info" | "warn" | "error", message: string, fields: LogFields): void;
  /** Reports that the service has tried to replace what it serves. It is logged, unless `follower` shows it instead. */
  reloaded(reload: Reload): void;
  follower?: RequestFollower;
  /** Counts and times what happens. */
  meter: Meter;
}

/** Shows requests as they happen, to a person. It gets ids: the journal has the rest. */
export interface RequestFollower {
  /** A request to a hook, or to a path that does not exist, was answered. */
  answered(request: AnsweredRequest): void;
  /** Something became of an event. */
  changed(eventId: string): void;
  /** The service serves a new configuration, or keeps the one before because of problems. */
  reloaded(reload: Reload): void;
  /** Shows what is left, before the journal closes. */
  close(): Promise<void>;
}

export interface Reload {
  /** Generation of the configuration in use. */
  generation: number;
  /** The files that had changed, relative to the configuration's folder; undefined: none is known. */
  changed: string | undefined;
  ms: number;
  /** Empty: it succeeded. */
  problems: ConfigProblem[];
}

export interface AnsweredRequest {
  /** Also the id of its event, unless it was refused too early or repeats an earlier one. */
  id: string;
  method: string;
  path: string;
  status: number;
  durationMs: number;
  error?: { code: string; message: string };
}

interface TelemetryOptions {
  follower?: RequestFollower;
  /** Where the log goes. Default: standard error. */
  output?: LogOutput;
  /** Default: nothing is counted. */
  meter?: Meter;
}

export function createTelemetry(level: LogLevel, options: TelemetryOptions = {}): Telemetry {
  const { follower, output = process.stderr, meter } = options;
  const telemetry = withLog(createLog(level, output), meter);
  if (!follower) return telemetry;
  return {
    ...telemetry,
    follower,
    step(stepLevel, message, fields) {
      if (typeof fields["eventId"] === "string") follower.changed(fields["eventId"]);
      // Otherwise the terminal would show it twice.
      if (!output.isTTY) telemetry.step(stepLevel, message, fields);
    },
    reloaded(reload) {
      follower.reloaded(reload);
      if (!output.isTTY) telemetry.reloaded(reload);
    },
  };
}

/** Telemetry that only logs. */
export function withLog(log: Log, meter: Meter = silentMeter): Telemetry {
  return {
    log,
    step: (level, message, fields) => log[level](message, fields),
    reloaded({ generation, changed, ms, problems }) {
      if (problems.length === 0) log.info("reloaded", { generation, changed, ms });
      for (const problem of problems) {
        log.error("reload refused", { problem: toSentence(problem), excerpt: problem.excerpt });
      }
    },
    meter,
  };
}

/** Counts and times of the service. Times are in milliseconds. Names are those of mappings, hooks and channels. */
export interface Meter {
  /** A request to a hook was answered. `hook` is undefined unless the configuration names it. */
  answered(answer: { hook: string | undefined; status: number; ms: number }): void;
  /** An event was recorded. `mapping` is that of the configuration, or the service's own hook. */
  recorded(event: { mapping: string | undefined; status: EventStatus; mappingMs?: number; commitMs?: number }): void;
  /** An attempt at a run has ended. */
  turned(turn: { result: "done" | "retried" | "dead" | "held"; ms: number; usage?: TokenUsage }): void;
  delivered(delivery: { channel: string; result: "sent" | "retried" | "failed" | "skipped"; ms: number }): void;
  rejected(reason: string): void;
  reloaded(isGood: boolean): void;
}

interface TokenUsage {
  inputTokens?: number;
  outputTokens?: number;
}

const ignore = (): void => undefined;

const silentMeter: Meter = {
  answered: ignore,
  recorded: ignore,
  turned: ignore,
  delivered: ignore,
  rejected: ignore,
  reloaded: ignore,
};

export const silentTelemetry: Telemetry = withLog(silentLog);
