import type { ReadMailbox } from "../actions/read-files.ts";
import type { TurnContext } from "../actions/agent-turn.ts";
import type { AgentDriver } from "../ports/agent.ts";
import type { Vendors } from "../ports/vendor.ts";
import type { ChannelDriver } from "../ports/channel.ts";
import type { ResolvedConfig } from "../config/resolved-config.ts";
import type { Journal, NodeInfo, RunLimits } from "../journal/journal.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ChannelName } from "../types.ts";
import type { HoldGuard } from "./hold.ts";
import type { WorkMarks } from "./working.ts";
import type { DispatchJournal } from "./retry.ts";
import type { Spans } from "../telemetry/traces.ts";

interface DispatchRuntime {
  agent: AgentDriver;
  channels: ReadonlyMap<ChannelName, ChannelDriver>;
  mailboxes: readonly ReadMailbox[];
  tools: TurnContext["tools"];
  limits: RunLimits;
  config: Pick<ResolvedConfig, "agents" | "session" | "limits" | "channelRules"> & {
    gateway: Pick<ResolvedConfig["gateway"], "publicUrl" | "hooksUrl">;
    hooks: Pick<ResolvedConfig["hooks"], "agent" | "mappings" | "path">;
  };
  drivers: { vendors: Vendors };
}

export interface DispatcherOptions {
  /** The node's data for the other nodes. */
  describeNode?: () => NodeInfo;
  journal: Journal;
  /** The runtime in use. It is asked for each piece of work, since a reload replaces it. */
  current(): DispatchRuntime;
  telemetry: Telemetry;
  /** A stored event as templates see it; empty if its body was not stored. */
  readEvent(id: string): Promise<object>;
  /** The process has ended this often within an hour, and no run or delivery explains it. */
  restarting?(times: number): void;
}

export interface DispatchContext extends Omit<DispatcherOptions, "journal"> {
  /** Its calls wait while the journal is unavailable. */
  journal: DispatchJournal;
  hold: HoldGuard;
  marks: WorkMarks;
  spans: Spans;
  /** Aborts when the shutdown timeout is over. */
  signal: AbortSignal;
}
