import { type DestinationStream, pino } from "pino";
import { toTerminalLine } from "./to-terminal-line.ts";

type Level = "debug" | "info" | "warn" | "error";

/** What a log line may carry: names, ids and sizes. Above level debug nothing of a payload or a header. */
type LogFields = Record<string, string | number | boolean | undefined>;

/** The service's own log: `log.info("event accepted", { eventId, hook })`. */
export type Log = { [L in Level]: (message: string, fields?: LogFields) => void };

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Writes on standard error, so that standard output stays with what was asked for: lines of JSON, or lines for a person where
 * that is a terminal.
 */
export function createLog(level: Level | "silent"): Log {
  const logger = pino(
    { level, base: undefined, timestamp: pino.stdTimeFunctions.isoTime },
    process.stderr.isTTY ? createTerminal() : pino.destination(2),
  );
  const write =
    (name: Level) =>
    (message: string, fields: LogFields = {}): void =>
      logger[name](fields, message);
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

function createTerminal(): DestinationStream {
  return {
    write(json) {
      const { level, ...rest } = JSON.parse(json);
      process.stderr.write(toTerminalLine({ ...rest, level: pino.levels.labels[level] }));
    },
  };
}
