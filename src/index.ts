import type { Hookline, HooklineOptions } from "./library.ts";
import { createHookline as createService } from "./hookline.ts";
import type { UserConfig } from "./config/schema/generated.ts";

// The public API. None of these types needs those of Node.

export type { Hookline, HooklineOptions } from "./library.ts";
export { ConfigError, DriverError, HookError, MailError } from "./errors.ts";
export type { ConfigProblem } from "./errors.ts";
export type {
  AgentDriver,
  AgentReply,
  AgentTurn,
  CallOutcome,
  Exchange,
  HistoryEntry,
  RequestedCall,
  ToolDescription,
} from "./agents/driver.ts";
export type { ChannelDriver, OutgoingMessage } from "./channels/driver.ts";
export type {
  FollowOptions,
  Mail,
  MailAttachment,
  MailAuthentication,
  MailBatch,
  MailMarks,
  MailSource,
  ReceivedMail,
} from "./mail/source.ts";
export { definePlugin } from "./plugin.ts";
export type {
  DriverContext,
  DriverDefinition,
  OptionProblem,
  OptionsSchema,
  Plugin,
  SignatureDefinition,
} from "./plugin.ts";
export { defineSignature } from "./providers/verifier.ts";
export type { HandshakeContext, HandshakeRule, SignatureRow, SignedPart } from "./providers/row.ts";
export type {
  Handshake,
  SignatureRefusal,
  SignatureResult,
  SignatureVerifier,
  SignedHead,
  SignedParts,
  SignedRequest,
  UnsignedRequest,
} from "./providers/provider.ts";
export type { ActionOverride, MappingInput, UserConfig } from "./config/schema/generated.ts";
export type { CallContext, CallDescription, CallResult, ToolCall, ToolSet } from "./tools/tool-set.ts";
export type {
  PresetPayload,
  Transform,
  TransformInput,
  TransformResult,
  TransformState,
} from "./transforms/transform-types.ts";

/** Builds the service, which does not listen yet. Throws a `ConfigError` with all problems that keep it from starting. */
export function createHookline(options: HooklineOptions): Promise<Hookline> {
  return createService(options);
}

/** Gives an editor the configuration's types; returns it as it is. */
export function defineConfig(config: UserConfig): UserConfig {
  return config;
}
