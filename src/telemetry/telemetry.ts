import { createLog, type Log, type LogFields, type LogLevel, silentLog } from "./log.ts";

/** Everything the service reports about itself. Names and fields carry ids, names and sizes, never content. */
export interface Telemetry {
  log: Log;
  /** Adds to a counter. */
  count(name: string, fields?: LogFields, by?: number): void;
  /** Runs `work` as one step of a trace. */
  span<Result>(name: string, fields: LogFields, work: () => Promise<Result>): Promise<Result>;
}

/** Counters and spans go nowhere yet. */
export function createTelemetry(level: LogLevel): Telemetry {
  return withLog(createLog(level));
}

/** Telemetry that only logs. */
export function withLog(log: Log): Telemetry {
  return { log, count() {}, span: (_name, _fields, work) => work() };
}

export const silentTelemetry: Telemetry = withLog(silentLog);
