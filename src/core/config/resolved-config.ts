import type { Recurrence } from "../shared/recurrence.ts";
import type { PresetPlace } from "./presets/file.ts";
import type { MappingInput, Preset, ValidConfig, ValidConfigMailbox } from "./schema/generated.ts";

/** A mapping with the place it was written at, before it is compiled. */
export interface MappingSource {
  mapping: MappingInput;
  /** With the references of the configuration in place of their values, which may be secret: what is shown. */
  written?: MappingInput;
  /** `mapping.id` or its default. */
  id: string;
  /** The preset that brought it; undefined for one of the configuration's own. */
  preset?: string;
  /** Its `sessionKey` is the preset's own, which no request chooses. */
  hasOwnKey?: boolean;
  /** The file it is written in, absolute: the configuration's, a part's or a preset's; undefined for a program's own object. */
  file: string | undefined;
  /** Dotted path of the mapping in the configuration, with that of all parts, or in the preset's file: `hooks.mappings[0]`. */
  key: string;
  /** Folder that `transform.module` is looked up in, absolute. */
  transformsDir: string;
  /** Folder that a `schema` path is relative to, absolute. */
  baseDir: string;
}

/** The name of `hooks.token`. */
export const DEFAULT_TOKEN = "default";

/** A token of the hooks. The name stays the same when the secret is rotated. */
export interface HookToken {
  name: string;
  /** The first is current. Without white space around them. */
  secrets: string[];
  /** The hooks that it is limited to. */
  hooks?: string[];
  /** The start of the keys of the sessions that its requests to `agent` lead to. */
  sessionPrefix?: string;
}

export interface AllowedModel {
  id: string;
  alias?: string;
}

export interface PresetUse extends PresetPlace {
  with: Record<string, unknown>;
  /** The file it is written in, absolute; undefined for a program's own object. */
  file: string | undefined;
  /** Dotted path of the entry in the configuration. */
  key: string;
  /** Folder that `transform.module` in `with` is looked up in, absolute. */
  transformsDir: string;
}

type ValidHooks = ValidConfig["hooks"];
type ValidDefaults = ValidConfig["agents"]["defaults"];

/** Settings that have another form once they are resolved. */
type Converted =
  | "token"
  | "tokens"
  | "bodyTimeoutSeconds"
  | "dedupeWindow"
  | "redact"
  | "presets"
  | "mappings"
  | "mail";

/** The settings of a mailbox for the `mail` preset. */
export const MAIL_DEFAULTS = ["channel", "to", "model", "thinking", "instructions"] as const;

/** One mailbox of `hooks.mail`. Without `source` it is the mail preset's defaults alone. */
export interface MailSettings extends Omit<ValidConfigMailbox, "lookback"> {
  /** The configured name, or the kind of its source. It is the `source` of the payload. */
  name: string;
  /** `hooks.mail`, in a list `hooks.mail[0]` … */
  key: string;
  /** How far back the first start reaches; 0: mail that was there before is left out. */
  lookbackMs: number;
}

/** all: answers and executes · ingress: answers, and executes nothing · worker: executes, and answers no hooks from outside. */
export type NodeRole = ValidConfig["gateway"]["role"];

type ValidAlert = ValidConfig["alerts"][number];

export type AlertKind = ValidAlert["on"][number];

export interface AlertRule extends Pick<ValidAlert, "on" | "channel" | "to" | "hook"> {
  /** `alerts[0]` */
  key: string;
  everyMs: number;
  /** For `no-event-for`. */
  afterMs: number | undefined;
}

/** The settings that every channel has. */
export interface ChannelRules {
  /** Recipients that a payload may choose, `*` for any characters. */
  allow?: string[];
  /** Who can see what is written there. undefined: it depends on the recipient. */
  audience?: "public" | "private";
  /** Deliveries are recorded instead of sent. */
  dryRun: boolean;
}

/** A tool set of `agents.tools`. */
export interface ToolSetBlock {
  kind: string;
  /** Options of its driver. */
  options: Record<string, unknown>;
  /** Who can see what is asked of it. undefined: nobody said, which counts as private. */
  audience: "public" | "private" | undefined;
  /** In characters. */
  maxResultLength: number;
  callTimeoutMs: number;
  /** Calls that change something are recorded instead of sent. */
  dryRun: boolean;
}

export interface ApprovalSettings extends Omit<NonNullable<ValidConfig["agents"]["approvals"]>, "expires"> {
  expiresMs: number;
}

/** A call that a preset can read as context. Its template is a text. */
export type PresetRead = Omit<NonNullable<Preset["reads"]>["calls"][string], "template"> & { template?: string };

/** Calls of the sender's API that a use of a preset makes for context. */
export interface PresetReads {
  /** The name of its tool set. */
  set: string;
  preset: string;
  /** The channel whose address and credential are used. */
  channel: string | undefined;
  /** The address, if there is no channel. */
  baseUrl: string | undefined;
  /** Instead of the channel's credential. */
  readToken: string | undefined;
  /** By name. */
  calls: Record<string, PresetRead>;
  /** Where the configuration names them. */
  key: string;
}

/** Calls that change something at the places of a preset's events, by one account. */
export interface PresetWrites extends Pick<NonNullable<Preset["writes"]>, "calls" | "failure"> {
  preset: string;
  /** The account of the channel whose address and credential are used. Its name is that of the tool set. */
  account: string;
  /** Where the configuration grants them. */
  key: string;
}

/** Who may use the MCP endpoint: by a token, or as the subject of an issuer's tokens. */
export interface McpPrincipal {
  /** Its identity. */
  name: string;
  /** Without white space around them; empty with `sub`. */
  secrets: string[];
  sub?: string;
  /** Patterns of event types. */
  events: string[];
  /** The values that an argument can have, by its name. */
  arguments: Record<string, readonly (string | number | boolean)[]>;
}

export interface McpSettings {
  principals: McpPrincipal[];
  oauth: { issuer: string; scope: string } | undefined;
  /** In lower case. */
  allowHosts: string[];
  /** The first encrypts. Empty: the key is a file in the state folder. */
  keys: string[];
}

/** The price of a million tokens of each kind. */
export type ModelPrice = Exclude<ValidConfig["agents"]["prices"][string], string | undefined>;

/** The configuration as the code uses it: every default filled in, paths absolute, durations in milliseconds. */
export interface ResolvedConfig {
  /** Absolute path of the file it came from; undefined for a program's own object. */
  file: string | undefined;
  /** Folder that relative paths were resolved against. */
  baseDir: string;
  /** The files that it includes, absolute, in their order. */
  parts: string[];
  gateway: Omit<ValidConfig["gateway"], "auth" | "mcp"> & {
    token: string | undefined;
    /** Without a slash at the end. */
    publicUrl: string | undefined;
    /** undefined: there is no MCP endpoint. */
    mcp: McpSettings | undefined;
    /** Where senders reach the hooks: `publicUrl`, or the address of a tunnel, which leads to nothing else. */
    hooksUrl: string | undefined;
  };
  hooks: Omit<ValidHooks, Converted> & {
    /** The current secret of the default token, for the service's own requests; empty if none is set. */
    token: string;
    /** The first is named `default`. */
    tokens: HookToken[];
    bodyTimeoutMs: number;
    dedupeWindowMs: number;
    /** Keys from the outside in, `*` for all: what is replaced in payloads before they are kept. */
    redact: string[][];
    presets: PresetUse[];
    mappings: MappingSource[];
    /** Calls for context of the presets in use. */
    reads: PresetReads[];
    /** Calls for effects of the presets in use that are granted. */
    writes: PresetWrites[];
    mail: [MailSettings, ...MailSettings[]];
  };
  agents: Omit<ValidDefaults, "models" | "heartbeat"> &
    Pick<ValidConfig["agents"], "providers" | "linkHosts" | "budget"> & {
      /** By the id of the model. */
      prices: Record<string, ModelPrice>;
      /** That of the prices: `EUR`. */
      currency?: string;
      /** By name. */
      tools: Record<string, ToolSetBlock>;
      /** undefined: any model may be named. */
      models?: AllowedModel[];
      /** `joinMs`: how long a heartbeat that was asked for waits for others. */
      heartbeat: Omit<ValidDefaults["heartbeat"], keyof Recurrence | "joinWindow"> & {
        times: Recurrence;
        joinMs: number;
      };
      /** Where and how long a person is asked. undefined: on the page only, and for `DEFAULT_EXPIRY_MS`. */
      approvals: ApprovalSettings | undefined;
    };
  /** By name, those that are configured. */
  channels: ValidConfig["channels"];
  /** By the channel's name. */
  channelRules: ReadonlyMap<string, ChannelRules>;
  /** Every channel that could be configured, and the accounts that are. */
  channelNames: string[];
  /** The channels whose accounts have repositories. */
  forges: string[];
  alerts: AlertRule[];
  /** The limits of a turn's history; `maxTokens` is estimated as characters / 4. */
  session: Omit<ValidConfig["session"], "idleAfter"> & { idleAfterMs: number };
  limits: ValidConfig["limits"];
  store: {
    path: string;
    /** Instead of the state folder. */
    postgres: PostgresSettings | undefined;
    retention: { maxAgeMs: number; maxBytes: number | undefined; maxKeys: number };
  };
  log: ValidConfig["log"];
}

/** The password is in both URLs. */
interface PostgresSettings {
  url: string;
  /** For renewals of the lease, if it is another one. */
  leaseUrl: string | undefined;
  maxConnections: number;
  commitTimeoutMs: number;
  /** Whether a start may change tables of an earlier version. */
  upgrade: boolean;
}
