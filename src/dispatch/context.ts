import type { AgentDriver } from "../agents/driver.ts";
import type { ChannelDriver } from "../channels/driver.ts";
import type { ResolvedConfig } from "../config/types.ts";
import type { Journal, NodeInfo, RunLimits } from "../journal/journal.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ChannelName } from "../types.ts";
import type { HoldGuard } from "./hold.ts";
import type { DispatchJournal } from "./retry.ts";
import type { Spans } from "../telemetry/traces.ts";

/** What a reload replaces is a function; it is called for each piece of work. */
export interface DispatcherOptions {
  /** What the other nodes are shown. */
  describeNode?(): NodeInfo;
  journal: Journal;
  agent(): AgentDriver;
  channels(): ReadonlyMap<ChannelName, ChannelDriver>;
  settings(): ResolvedConfig["agents"];
  session(): ResolvedConfig["session"];
  limits(): RunLimits;
  /** Of a session to its source in an hour. */
  maxReplies(): number;
  /** By channel. */
  channelRules(): ResolvedConfig["channelRules"];
  telemetry: Telemetry;
}

export interface DispatchContext extends Omit<DispatcherOptions, "journal"> {
  /** Its calls wait while the journal is unavailable. */
  journal: DispatchJournal;
  hold: HoldGuard;
  spans: Spans;
  log: Log;
  /** Aborts when the shutdown timeout is over. */
  signal: AbortSignal;
}
