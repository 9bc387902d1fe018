import type { Drivers } from "../config/plugins.ts";
import type { MailSettings, ResolvedConfig } from "../config/resolved-config.ts";
import type { ConfigProblem, FoundProblem, PartPlaces } from "../errors.ts";
import type { Authenticators } from "../ingress/authenticators.ts";
import type { RunLimits } from "../journal/journal.ts";
import type { MappingIndex } from "../mapping/mapping-index.ts";
import type { ResolveOptions } from "../mapping/resolve-request.ts";
import type { AgentDriver } from "./agent.ts";
import type { ChannelDriver } from "./channel.ts";
import type { ModuleCost } from "../transforms/runner.ts";
import type { MailSource } from "./mail-source.ts";
import type { ToolSets } from "./open-tool-sets.ts";

/** Everything that config, presets and transforms mean, compiled ahead of any request. Never changed, only replaced. */
export interface Runtime extends Pick<ResolveOptions, "readMail"> {
  /** 1 for the first, one more for each that replaced it. */
  generation: number;
  /** When its files were read, and when it was complete, in milliseconds since the epoch. */
  readAt: number;
  builtAt: number;
  config: ResolvedConfig;
  /** Who may send to which hook. */
  authenticators: Authenticators;
  /** The definitions that its drivers were made from. */
  drivers: Drivers;
  agent: AgentDriver;
  /** By name. */
  channels: Map<string, ChannelDriver>;
  tools: ToolSets;
  /** Mailboxes with a source. */
  mailboxes: Mailbox[];
  mappings: MappingIndex;
  limits: RunLimits;
  warnings: ConfigProblem[];
  /** The modules of its transforms, and how much calls of each load. */
  modules: ModuleCost[];
  /** Adds file and position to a problem that was found later. */
  place(problem: FoundProblem): ConfigProblem;
  /** Files and folders that are watched for changes. */
  files: string[];
  /** Where files may appear that become parts of the configuration. */
  parts: PartPlaces;
}

export interface Mailbox {
  settings: MailSettings;
  source: MailSource;
}

/** Why the next runtime could not be built. */
export interface ReloadFailure {
  /** Milliseconds since the epoch. */
  at: number;
  problems: ConfigProblem[];
}
