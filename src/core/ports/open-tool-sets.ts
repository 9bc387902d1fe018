import type { OfferedChange } from "./agent.ts";
import type { CallDescription, CallResult, LeftOutCall, ToolCall, ToolSet } from "./tool-set.ts";

/** A call of an open set, with the rules of its block. */
export interface OpenCall extends CallDescription, Pick<ToolCall, "address" | "place" | "texts"> {
  /** `<set>.<call>` */
  fullName: string;
  /** Its name for a model. */
  modelName: string;
  /** Who can see what is asked of it. */
  audience: Audience;
  /** Calls that change something are recorded instead of sent. */
  dryRun: boolean;
  timeoutMs: number;
  /** Another one if what it does may have changed: its description, its arguments, or the block of its set. */
  digest: string;
  /** Expressions of its schema that are not checked here, because they cannot run in linear time. */
  unchecked: ReadonlySet<string>;
  /** Problems of arguments, one sentence for each; none if they fit the schema. */
  check(args: unknown): string[];
  /** The same for some of the arguments: others may be missing. */
  checkSome(args: unknown): string[];
  /**
   * Executes the call within its time limit. Arguments that do not fit are refused and not sent. The result holds no
   * secret of the set and at most its number of characters. Rejects as `ToolCall.call` does.
   */
  call(args: unknown, options: CallOptions): Promise<CallResult>;
}

export interface CallOptions {
  signal: AbortSignal;
  callId: string;
  /** The operator says that it only reads, or may be repeated: it may be sent twice. */
  isRepeatable?: boolean;
  /** Default: that of the call or its set. */
  maxResultLength?: number;
  /** The change that a call of `findChange` publishes. */
  change?: OfferedChange;
  /** Signs a text with a key of this store. */
  sign?(text: string): Uint8Array;
}

/** The tool sets of a configuration. */
export interface ToolSets {
  readonly sets: ReadonlyMap<string, OpenSet>;
  /** By `<set>.<call>`. */
  find(fullName: string): OpenCall | undefined;
  /** The call that publishes the changes of a workspace at this account. The service alone makes it, never a model. */
  findChange(account: string): OpenCall | undefined;
  /** Whether it is such a call, of any account. */
  isChange(fullName: string): boolean;
  /** Every call, in the order of the configuration. */
  list(): OpenCall[];
  /** Calls that are accepted or written, and cannot be used, by their full names: why, which may hold words of a server. */
  leftOut: ReadonlyMap<string, string>;
  /** Why there is no such call, and what to do, in whole sentences without words of a server. A pattern is such a call. */
  explainMissing(fullName: string): string;
  watch(listener: ToolListener): void;
  close(): void;
}

export interface ToolListener {
  /** Tells what an operator should know of a call that was not sent. */
  alert(alert: ToolAlert): void;
  /** A call that was sent, by its full name. */
  called(fullName: string): void;
}

export interface ToolAlert {
  kind: "tool-changed" | "tool-unreachable";
  /** The call that differs, or the set that cannot be reached. */
  subject: string;
  /** A sentence for the operator. */
  text: string;
}

type Audience = "private" | "public";

export interface OpenSet extends Pick<ToolSet, "discover"> {
  audience: Audience;
  calls: OpenCall[];
  leftOut: LeftOutCall[];
}
