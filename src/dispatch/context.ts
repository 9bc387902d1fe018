import type { AgentDriver } from "../agents/driver.ts";
import type { ChannelDriver } from "../channels/driver.ts";
import type { ResolvedConfig } from "../config/types.ts";
import type { Journal, RunLimits } from "../journal/journal.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ChannelName } from "../types.ts";
import { createInsistentJournal, type DispatchJournal } from "./retrying-journal.ts";

/** What the dispatcher works with. What a reload replaces is a function, asked anew for each piece of work. */
export interface DispatcherOptions {
  journal: Journal;
  agent(): AgentDriver;
  channels(): ReadonlyMap<ChannelName, ChannelDriver>;
  /** Splits a text into parts of at most `limit` units of `measure`. */
  split(text: string, size: { limit: number; measure?: (text: string) => number }): string[];
  settings(): ResolvedConfig["agents"];
  session(): ResolvedConfig["session"];
  /** Of the mappings that have any. */
  limits(): RunLimits;
  telemetry: Telemetry;
}

export interface DispatchContext extends Omit<DispatcherOptions, "journal"> {
  /** Waits where the journal is unavailable. */
  journal: DispatchJournal;
  log: Log;
  /** Aborts when the service stops and has waited long enough. */
  signal: AbortSignal;
}

export function createContext(options: DispatcherOptions, signal: AbortSignal): DispatchContext {
  const { log } = options.telemetry;
  return { ...options, log, journal: createInsistentJournal(options.journal, { log, signal }), signal };
}
