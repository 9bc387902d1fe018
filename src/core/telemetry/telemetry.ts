import { type Activity, createActivity } from "./activity.ts";
import { createLog, type Log, type LogLevel, type LogOptions, silentLog } from "./log.ts";

/** Everything the service reports about itself. Names and fields carry ids, names and sizes, never content. */
export interface Telemetry {
  log: Log;
  activity: Activity;
}

export function createTelemetry(level: LogLevel, options?: LogOptions): Telemetry {
  return withLog(createLog(level, options));
}

export function withLog(log: Log): Telemetry {
  return { log, activity: createActivity() };
}

export const silentTelemetry: Telemetry = withLog(silentLog);
