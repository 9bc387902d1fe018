import type { ModelApi } from "./agent.ts";
import type { ChannelDriver, MessageTemplate } from "./channel.ts";
import type { RepositoryHost } from "./repository.ts";
import type { MailAccount, RefreshTokens } from "./mail-source.ts";
import type { ReplayClass, SignatureVerifier } from "./signature.ts";
import type { Log } from "../telemetry/log.ts";

/** One driver: the schema of its block in the configuration, and how it is made from such a block. */
export interface DriverDefinition<Driver, Options extends object = object> {
  /**
   * JSON Schema (draft-07) of the block, of type `object` and without `kind`. Its defaults are filled in. With
   * `additionalProperties: false` an unknown key is an error.
   */
  schema: OptionsSchema;
  /** Finds what the schema cannot express. Called when the configuration is loaded. */
  check?(options: Options, context: CheckContext): OptionProblem[];
  /** Makes the driver, once for each load of the configuration. A large library is best imported here or later. */
  create(options: Options, context: DriverContext): Driver | Promise<Driver>;
}

/** The surroundings of a block whose options are checked. */
export interface CheckContext extends Pick<DriverContext, "baseDir"> {
  /** The state folder and files of the configuration, absolute: what no other program may see. @internal */
  ownPaths?: readonly string[];
  /** The kind of a provider, by its name. Undefined: there is none. @internal */
  kindOf?(provider: string): string | undefined;
}

/** A JSON Schema (draft-07) of an object. */
export interface OptionsSchema {
  readonly type: "object";
  readonly [keyword: string]: unknown;
}

/** A mistake in the options of a block. */
export interface OptionProblem {
  /** Dotted path within the block: `oauth.tokenUrl`. Default: the block itself. */
  key?: string;
  /** The mistake and its fix, in whole sentences. */
  message: string;
  /** A warning does not keep the service from starting. Default: error. */
  level?: "error" | "warning";
}

/** The surroundings of a block that becomes a driver. */
export interface DriverContext {
  /** The name of the block: a provider's (the part of a model before the slash), a channel's, a tool set's, `source` for mail. */
  name: string;
  /** Folder that relative paths in the options are resolved against, absolute: that of the file with the block. */
  baseDir: string;
  /** Folder of the configuration, which can include that file, absolute. Default: `baseDir`. */
  configDir?: string;
  /** Folder for temporary files, absolute. It may not exist yet. Files that a killed service leaves there are removed at its next start. */
  tempDir: string;
  /** Folder for what a driver keeps between starts, absolute. It may not exist yet. */
  stateDir: string;
  /** After so long without a turn a session begins anew. Absent: never. */
  idleAfterMs?: number;
  log: Log;
  /** Compiles a template of the options, as those of mappings are. Throws an `Error` that says what is wrong with it. */
  compileTemplate(source: string): MessageTemplate;
  /** For an agent that is a program: where its workspaces are from. @internal */
  workspaces?: Workspaces;
  /** For an agent: the API of another provider, by its name. Undefined: there is none. @internal */
  modelApi?(provider: string): ModelApi | undefined;
  /**
   * For a channel: the account of a mailbox of `hooks.mail`, by its name. Undefined: there is none that can send.
   * @internal
   */
  mailAccount?(name: string): MailAccount | undefined;
  /** For a mail source: keeps the refresh tokens of a mailbox. Absent: they are kept in memory only. */
  refreshTokens?(mailbox: string): RefreshTokens;
}

export interface Workspaces {
  /** The folder with the repositories as they were fetched, absolute. */
  mirrors: string;
  /** The repositories of a channel's account. Undefined: it has none, or is not configured. */
  findHost(account: string): RepositoryHost | undefined;
  /** Secrets of the configuration, by their keys: what holds one does not leave. */
  secrets: ReadonlyMap<string, string>;
}

/** A channel. */
export interface ChannelDefinition<Options extends object = object> extends DriverDefinition<ChannelDriver, Options> {
  /** Whether its accounts have repositories, for workspaces: its driver has `openGit`, `findPull` and `openPull`. Default: no. */
  hasRepositories?: boolean;
  /** For the documentation, in a few words each. */
  about?: ChannelSummary;
}

interface ChannelSummary {
  /** The forms of a recipient. */
  to: string;
  /** The least permissions of its token, for a channel that writes comments. */
  needs?: string;
  /** How often a message is there whose answer was lost. Default: once. */
  afterCrash?: string;
  testedAgainst?: string;
}

/** A signature scheme. `schema` is that of an `auth` block without `scheme`. */
export interface SignatureDefinition<Options extends object = object> extends DriverDefinition<
  SignatureVerifier,
  Options
> {
  /** Whether the sender signs its address, so that `auth.url` or `gateway.publicUrl` is required. Default: no. */
  signsUrl?(options: Options): boolean;
  /** The sender's page about its signature. */
  docs?: string;
  /** A template for the idempotency key: what stays the same when the sender repeats a delivery. */
  deliveryId?: string;
  /** How a captured request is kept from running again. Default: plain. */
  replay?(options: Options): ReplayClass;
  /** For the documentation, in a few words each. */
  about?: SignatureSummary;
}

/** A signature scheme, for the documentation. */
export interface SignatureSummary {
  /** The header with the signature, or where else it is. */
  header: string;
  /** The signed content, and how it is signed. */
  signed: string;
  /** How far the sender's clock may be off; undefined if no time is signed. */
  tolerance?: string;
  /** If `replay` depends on the options: on which. */
  replay?: string;
  handshake?: string;
}
