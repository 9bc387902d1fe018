import { type ConfigProblem, toSentence } from "../errors.ts";
import { type Activity, createActivity } from "./activity.ts";
import { createLog, type Log, type LogFields, type LogLevel, type LogOutput, silentLog } from "./log.ts";

/** Everything the service reports about itself. Names and fields carry ids, names and sizes, never content. */
export interface Telemetry {
  log: Log;
  /** The log of what requests led to, once it is recorded. On a terminal, `follower` shows it instead. */
  steps: Log;
  /** Reports that the service has tried to replace what it serves. It is logged, unless `follower` shows it instead. */
  reloaded(reload: Reload): void;
  follower?: RequestFollower;
  activity: Activity;
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
}

export function createTelemetry(
  level: LogLevel,
  { follower, output = process.stderr }: TelemetryOptions = {},
): Telemetry {
  const log = createLog(level, output);
  // Otherwise the terminal would show twice what the follower shows.
  return follower && output.isTTY ? withLog(log, follower, silentLog) : withLog(log, follower);
}

/** `steps`: where steps and reloads are logged. */
export function withLog(log: Log, follower?: RequestFollower, steps = log): Telemetry {
  const activity = createActivity();
  return {
    log,
    steps: follower ? withFollower(steps, follower) : steps,
    follower,
    activity,
    reloaded(reload) {
      const { generation, changed, ms, problems } = reload;
      activity.reloaded(problems.length === 0);
      follower?.reloaded(reload);
      if (problems.length === 0) steps.info("reloaded", { generation, changed, ms });
      for (const problem of problems) {
        steps.error("reload refused", { problem: toSentence(problem), excerpt: problem.excerpt });
      }
    },
  };
}

function withFollower(log: Log, follower: RequestFollower): Log {
  const write =
    (level: keyof Log) =>
    (message: string, fields: LogFields = {}): void => {
      if (typeof fields["eventId"] === "string") follower.changed(fields["eventId"]);
      log[level](message, fields);
    };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

export const silentTelemetry: Telemetry = withLog(silentLog);
