import type { Hookline, HooklineOptions } from "./service/library.ts";
import type { UserConfig } from "./core/config/schema/generated.ts";

// The public API. None of these types needs those of Node.

export type { Hookline, HooklineOptions, NodeRequest, NodeResponse } from "./service/library.ts";
export { ConfigError, DriverError, HookError, MailError } from "./core/errors.ts";
export type {
  ConfigProblem,
  DriverErrorOptions,
  HookErrorCode,
  HookErrorDetail,
  HookErrorOptions,
  LogLine,
  ModelFailure,
} from "./core/errors.ts";
export type {
  AgentDriver,
  AgentNote,
  AgentReply,
  AgentTurn,
  CallAnswer,
  CallOutcome,
  Exchange,
  HistoryEntry,
  OwnCall,
  OwnCalls,
  RequestedCall,
  TokenUsage,
  ToolDescription,
  TurnFile,
} from "./core/ports/agent.ts";
export type {
  Button,
  ChangeDiff,
  ChannelDriver,
  FileAddress,
  LineComment,
  MessageTemplate,
  OutgoingMessage,
  Review,
  ReviewVerdict,
} from "./core/ports/channel.ts";
export type { DiffLine } from "./core/shared/text/diff.ts";
export type { GitAddress, NewPull, Pull, PullHead, RepositoryHost } from "./core/ports/repository.ts";
export type {
  FollowOptions,
  Mail,
  MailAttachment,
  MailAuthentication,
  MailBatch,
  MailMarks,
  MailSource,
  ReceivedMail,
  RefreshTokens,
} from "./core/ports/mail-source.ts";
export { definePlugin } from "./core/ports/plugin.ts";
export type { Plugin } from "./core/ports/plugin.ts";
export type {
  ChannelDefinition,
  CheckContext,
  DriverContext,
  DriverDefinition,
  OptionProblem,
  OptionsSchema,
  SignatureDefinition,
  SignatureSummary,
} from "./core/ports/driver.ts";
export { defineVendor } from "./core/ports/vendor.ts";
export type {
  ApiAccess,
  ButtonPress,
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
export type { Marked, Sign } from "./vendors/kit/comments/mark.ts";
export type { FileService } from "./vendors/kit/files.ts";
export type { CommentService, RenderedReview, ReviewService } from "./vendors/kit/comments/comment.ts";
export { defineSignature } from "./vendors/signatures/verifier.ts";
export type {
  Algorithm,
  Encoding,
  HandshakeContext,
  HandshakeRule,
  RowOptions,
  SignatureRow,
  SignedPart,
  SigningKey,
  TimeUnit,
} from "./vendors/signatures/row.ts";
export type {
  Bytes,
  Handshake,
  ReplayClass,
  SignatureRefusal,
  SignatureResult,
  SignatureVerifier,
  SignedHead,
  SignedIdentity,
  SignedParts,
  SignedRequest,
  UnsignedRequest,
} from "./core/ports/signature.ts";
export type { ActionOverride, MappingInput, UserConfig } from "./core/config/schema/generated.ts";
export type {
  CallContext,
  CallDescription,
  CallResult,
  LeftOutCall,
  Offer,
  ToolCall,
  ToolSet,
} from "./core/ports/tool-set.ts";
export type { Log } from "./core/telemetry/log.ts";
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
export async function createHookline(options: HooklineOptions): Promise<Hookline> {
  // A plugin imports this file each time that it is loaded, and needs no service.
  const { createHookline: createService } = await import("./service/hookline.ts");
  return createService(options);
}

/** Gives an editor the configuration's types; returns it as it is. */
export function defineConfig(config: UserConfig): UserConfig {
  return config;
}
