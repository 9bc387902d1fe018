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

/** The part of a program that executes work. */
interface DispatchProgram {
  agent: AgentDriver;
  channels: ReadonlyMap<ChannelName, ChannelDriver>;
  limits: RunLimits;
  config: Pick<ResolvedConfig, "agents" | "session" | "limits" | "channelRules">;
}

export interface DispatcherOptions {
  /** What the other nodes are shown. */
  describeNode?(): NodeInfo;
  journal: Journal;
  /** The program in use. It is asked for each piece of work, since a reload replaces it. */
  current(): DispatchProgram;
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
