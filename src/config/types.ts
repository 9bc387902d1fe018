import type { Plugged } from "./plugins/drivers.ts";
import type { MappingInput, Provider, UserConfig } from "./schema/generated.ts";

type UserMail = NonNullable<NonNullable<UserConfig["hooks"]>["mail"]>;

/** A mapping with the place it was written at, before it is compiled. */
export interface MappingSource {
  mapping: MappingInput;
  /** `mapping.id` or its default. */
  id: string;
  /** The preset that brought it; undefined for one of the configuration's own. */
  preset?: string;
  /** The file it stands in, absolute: the config file or a preset's; undefined for a program's own object. */
  file: string | undefined;
  /** Dotted path of the mapping in that file: `hooks.mappings[0]`. */
  key: string;
  /** Folder that `transform.module` is looked up in, absolute. */
  transformsDir: string;
  /** Folder that a `schema` path is relative to, absolute. */
  baseDir: string;
}

/** The name of `hooks.token`. */
export const DEFAULT_TOKEN = "default";

/** What lets a request in to a hook. The name stays the same when the secret is rotated. */
export interface HookToken {
  name: string;
  /** The first is current. Without white space around them. */
  secrets: string[];
  /** The hooks that it is limited to. */
  hooks?: string[];
}

export interface AllowedModel {
  id: string;
  alias?: string;
}

export interface PresetUse {
  name: string;
  with: Record<string, unknown>;
  /** Dotted path of the entry in the config file. */
  key: string;
}

/** `hooks.mail`. Without `source` it is the mail preset's defaults alone. */
export type MailSettings = Omit<UserMail, "lookback" | "autoStart" | "batchSize" | "maxBytes" | "filter"> & {
  autoStart: boolean;
  batchSize: number;
  maxBytes: number;
  /** How far back the first start reaches; 0: nothing that was there before. */
  lookbackMs: number;
  filter: NonNullable<UserMail["filter"]> & { own: boolean; spam: boolean; trash: boolean; drafts: boolean };
};

/** The configuration as the code uses it: every default filled in, paths absolute, durations in milliseconds. */
export interface ResolvedConfig {
  /** Absolute path of the file it came from; undefined for a program's own object. */
  file: string | undefined;
  /** Folder that relative paths were resolved against. */
  baseDir: string;
  gateway: { host: string; port: number; token: string | undefined; trustedProxies: string[] };
  hooks: {
    enabled: boolean;
    /** The current secret of `tokens.default`, for requests of our own; empty when none is set. */
    token: string;
    /** The first is named `default`. */
    tokens: HookToken[];
    /** With a leading slash, without a trailing one. */
    path: string;
    maxBodyBytes: number;
    bodyTimeoutMs: number;
    maxFanOut: number;
    maxPending: number;
    dedupeWindowMs: number;
    /** Keys from the outside in, `*` for all: what is replaced in payloads before they are kept. */
    redact: string[][];
    presets: PresetUse[];
    transformsDir: string;
    mappings: MappingSource[];
    mail: MailSettings;
    allowRequestSessionKey: boolean;
    allowedSessionKeyPrefixes: string[];
    defaultSessionKey: string | undefined;
  };
  agents: {
    providers: Record<string, Provider>;
    model: string | undefined;
    /** undefined: any model may be named. */
    models: AllowedModel[] | undefined;
    thinking: string | undefined;
    timeoutSeconds: number;
    maxConcurrent: number;
    maxAttempts: number;
    heartbeat: { everyMs: number; ack: string };
  };
  channels: NonNullable<UserConfig["channels"]>;
  /** The providers, channels and the mailbox that plugins answer for; they are in none of the above. */
  plugged: Plugged;
  /** What a turn is given of its session's earlier ones; `maxTokens` estimated as characters / 4. */
  session: { maxTurns: number; maxTokens: number; idleAfterMs: number };
  store: { path: string; retention: { maxAgeMs: number; maxBytes: number | undefined; maxKeys: number } };
  log: { level: "debug" | "info" | "warn" | "error" | "silent" };
}
