/** What a program imports. */
export { createHookline } from "./hookline.ts";
export type { Hookline, HooklineOptions } from "./hookline.ts";
export { ConfigError, DriverError, HookError, MailError } from "./errors.ts";
export type { ConfigProblem } from "./errors.ts";
export type { AgentDriver, AgentReply, AgentTurn, HistoryEntry } from "./agents/port.ts";
export type { ChannelDriver, OutgoingMessage } from "./channels/port.ts";
export type {
  FollowOptions,
  Mail,
  MailAttachment,
  MailAuthentication,
  MailBatch,
  MailMarks,
  MailSource,
  ReceivedMail,
} from "./mail/port.ts";
export { definePlugin } from "./config/plugins/plugin.ts";
export type { DriverPlugin, Plugin } from "./config/plugins/plugin.ts";
export type { ActionOverride, MappingInput, UserConfig } from "./config/generated.ts";
export type { Transform, TransformInput, TransformResult } from "./transforms/author.ts";

import type { UserConfig } from "./config/generated.ts";

/** Gives an editor the configuration's types; returns it as it is. */
export function defineConfig(config: UserConfig): UserConfig {
  return config;
}
