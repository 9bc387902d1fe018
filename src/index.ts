import type { Hookline, HooklineOptions } from "./service/library.ts";
import { createHookline as createService } from "./service/hookline.ts";
import type { UserConfig } from "./core/config/schema/generated.ts";

// The public API. None of these types needs those of Node.

export type { Hookline, HooklineOptions, NodeRequest, NodeResponse } from "./service/library.ts";
export { ConfigError, DriverError, HookError, MailError } from "./core/errors.ts";
export type { ConfigProblem } from "./core/errors.ts";
export type {
  AgentDriver,
  AgentReply,
  AgentTurn,
  CallOutcome,
  Exchange,
  HistoryEntry,
  RequestedCall,
  ToolDescription,
} from "./core/ports/agent.ts";
export type { ChannelDriver, OutgoingMessage } from "./core/ports/channel.ts";
export type {
  FollowOptions,
  Mail,
  MailAttachment,
  MailAuthentication,
  MailBatch,
  MailMarks,
  MailSource,
  ReceivedMail,
} from "./core/ports/mail-source.ts";
export { definePlugin } from "./core/ports/plugin.ts";
export type { Plugin } from "./core/ports/plugin.ts";
export type {
  ChannelDefinition,
  DriverContext,
  DriverDefinition,
  OptionProblem,
  OptionsSchema,
  SignatureDefinition,
} from "./core/ports/driver.ts";
export { defineVendor } from "./core/ports/vendor.ts";
export type {
  ApiAccess,
  CreatedHook,
  HookApi,
  HookHealth,
  MissedOptions,
  PersonMessage,
  Vendor,
  VendorWebhooks,
  VerifiedEvent,
  WantedHook,
} from "./core/ports/vendor.ts";
export type { FoundMissed, MissedEvent, MissedEvents } from "./core/ports/missed.ts";
export { createApi } from "./vendors/kit/http.ts";
export type { Api, Call, HttpAnswer, OpenApi, Refusal, TokenContext, TokenSource } from "./vendors/kit/http.ts";
export { createCommentChannel } from "./vendors/kit/comments/comment.ts";
export type { CommentService, RenderedReview, ReviewService } from "./vendors/kit/comments/comment.ts";
export { defineSignature } from "./vendors/signatures/verifier.ts";
export type { HandshakeContext, HandshakeRule, SignatureRow, SignedPart } from "./vendors/signatures/row.ts";
export type {
  Handshake,
  SignatureRefusal,
  SignatureResult,
  SignatureVerifier,
  SignedHead,
  SignedParts,
  SignedRequest,
  UnsignedRequest,
} from "./core/ports/signature.ts";
export type { ActionOverride, MappingInput, UserConfig } from "./core/config/schema/generated.ts";
export type { CallContext, CallDescription, CallResult, ToolCall, ToolSet } from "./core/ports/tool-set.ts";
export type {
  Known,
  Module,
  PresetPayload,
  Register,
  Transform,
  TransformAction,
  TransformInput,
  TransformResult,
  TransformState,
} from "./core/transforms/transform-types.ts";

/** Builds the service, which does not listen yet. Throws a `ConfigError` with all problems that keep it from starting. */
export function createHookline(options: HooklineOptions): Promise<Hookline> {
  return createService(options);
}

/** Gives an editor the configuration's types; returns it as it is. */
export function defineConfig(config: UserConfig): UserConfig {
  return config;
}
