import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";

/** One earlier turn of a session, oldest first. */
export interface HistoryEntry {
  role: "user" | "assistant";
  text: string;
}

/** One request to an agent. */
export interface AgentTurn {
  runId: string;
  sessionKey: string;
  /** For a driver that keeps the history itself: when the session began. After a long pause it is another session. */
  sessionStart?: number;
  /** heartbeat: a turn of the main session over its pending system events. */
  kind: "hook" | "heartbeat";
  history: HistoryEntry[];
  /** The prompt. Untrusted text is inside its boundary. */
  message: string;
  /** `provider/model`: defaults and aliases are resolved already. */
  model?: string;
  /** `low`, `medium`, `high` or any other word of the operator; a driver uses the nearest level that it knows. */
  thinking?: string;
  /** How long the answer may be. A driver that cannot limit it ignores this. */
  maxOutputTokens?: number;
  /** The private sources of the history and the message, for a driver whose agent remembers more. Absent: none. */
  sources?: string[];
  /** For a driver that forwards an agent's own requests to a model: whether the turn has used up its budget. @internal */
  isSpent?(model: string, usage: TokenUsage): boolean;
  /** Files that the agent works on. Only for a driver with `hasWorkspaces`. @internal */
  workspace?: TurnWorkspace;
  /** How long the turn may take. The caller aborts it then. */
  timeoutSeconds: number;
  /** The reply that means "nothing to report". */
  ack: string;
  /** Files of the event, if the driver can give them to its agent. The prompt has the texts of those that are text. */
  files?: TurnFile[];
  /** The calls that the model may ask for. Only for a driver that can call; absent: none. */
  tools?: ToolDescription[];
  /** For a driver whose agent calls by itself while it works. Absent: it may call nothing. */
  calls?: OwnCalls;
  /**
   * Exchanges after the message so far, oldest first: answers of this turn's model that asked for calls, with their
   * results.
   */
  exchanges?: Exchange[];
}

/** A repository in which the agent of a turn works, and what becomes of its changes. */
export interface Workspace {
  /** The account of a channel: `github`, `github:eu`. */
  account: string;
  /** `acme/app` */
  repository: string;
  /** The commit, or a full ref. Absent: the head of `base`. */
  commit?: string;
  /** The branch that pull requests are for. Absent: the default branch. */
  base?: string;
  /** The program that is run in a new tree, and its arguments. */
  setup?: string[];
  /** Changes elsewhere need a person. Absent: anywhere. */
  paths?: string[];
  /** Changes there need a person. Absent: those of CI, of Git and of agents. */
  protect?: string[];
  /** The fork that is pushed to. Absent: the repository itself. */
  pushTo?: string;
  /** The author of commits, as `Name <mail>`. */
  author?: string;
  /** At a pull request that is not ours: no change is offered. */
  isForeign?: true;
  /** Others can see the repository. */
  isPublic?: true;
  /** The page of what the event is about. */
  url?: string;
  /** The event is about the session's own change: at this commit, which must be the head of its branch. */
  about?: string;
}

/** A repository for one turn. */
export interface TurnWorkspace extends Workspace {
  /** Changes at the end can be offered as a call. */
  canOffer: boolean;
  /** Records which commit the agent gets, before it is asked. */
  record(commit: string): Promise<void>;
}

/** The changes of an agent in its workspace, as a commit that every node can make again. */
export interface OfferedChange {
  /** The arguments of the call, which a person sees. */
  arguments: {
    repository: string;
    base: string;
    branch: string;
    /** The new commit. */
    commit: string;
    title: string;
    /** `M src/a.ts +3 -1`; those that need a person first. */
    files: string[];
    /** The files that need a person. */
    protected: string[];
  };
  account: string;
  pushTo?: string;
  /** The head of the branch when the turn began. Absent: there was no such branch. */
  head?: string;
  parent: string;
  /** The id of the commit's tree. */
  tree: string;
  author: string;
  /** In seconds since the epoch. */
  at: number;
  /** The message of the commit. */
  message: string;
  /** The text of the pull request, Markdown. */
  text: string;
  /** A binary patch of Git, in base64. */
  patch: string;
}

/** Behind a message that lists pictures, for a model or an agent that takes none. */
export const NO_PICTURES = "\n\nThe pictures are not shown to you: this model takes none.";

/** A file of the event, as it was read. */
export interface TurnFile {
  /** A name of this service: `file-1.png`. */
  name: string;
  /** By its content. */
  type: string;
  isImage: boolean;
  bytes: Uint8Array;
}

/** A call that a model may ask for. */
export interface ToolDescription {
  /** At most 64 letters, digits, `_` and `-`. */
  name: string;
  description: string;
  /** JSON Schema of the arguments, of type `object`. */
  inputSchema: Record<string, unknown>;
}

/** A call that a model asks for. It can hold anything: nothing is checked yet. */
export interface RequestedCall {
  /** The model's id of it. */
  toolCallId: string;
  name: string;
  arguments: unknown;
}

/**
 * The calls of an agent that calls by itself. Each is recorded before it is executed and after it. The turn's message has those that
 * an earlier attempt has made, and their results.
 */
export interface OwnCalls {
  /** Their names have at most 40 characters. */
  tools: ToolDescription[];
  /** Executes a call, after those before it. `gone`: aborts if the agent does not get the answer. */
  execute(call: OwnCall, gone: AbortSignal): Promise<CallAnswer>;
  /** Whether a person must decide, so that the turn goes on in another `run`. What this one says then is no reply. */
  isWaiting(): boolean;
  /** How many calls the run has made, without one that waits. */
  made(): number;
  /** For an agent that knows the first `made` calls from before: the others and their results, which is its next prompt. */
  continueFrom(made: number): string;
  /** Counts private sources that the agent remembers from before, and gives all of the turn. */
  addSources(sources: readonly string[]): string[];
}

/** A call of such an agent. */
export interface OwnCall extends Pick<RequestedCall, "name" | "arguments"> {
  /** Tokens since the call before it, and the model that used them. */
  usage?: TokenUsage;
  usedBy?: string;
}

/** The answer to such a call. */
export interface CallAnswer extends Pick<CallOutcome, "text"> {
  isError: boolean;
}

/** One answer of the model that asked for calls, and their results. */
export interface Exchange {
  /** The `answer` of the driver's reply, after a trip through JSON. */
  answer: unknown;
  /** One for each call of the answer, in the order of the calls. */
  results: CallOutcome[];
}

/** The result of one call. */
export interface CallOutcome extends Pick<RequestedCall, "toolCallId" | "name"> {
  /** Untrusted text is inside its boundary. */
  text: string;
  isError: boolean;
}

/** The tokens of a turn, as its model counts them. Absent: it does not say. */
export interface TokenUsage {
  /** The tokens of the whole prompt, cached ones included. */
  inputTokens?: number;
  outputTokens?: number;
  /** How much of the input was read from the provider's cache, and how much was written into it. */
  cachedInputTokens?: number;
  cacheWriteTokens?: number;
}

/** A word or an act of an agent with tools of its own, before its reply. */
export interface AgentNote {
  at: number;
  /** Its call, in its own words. Absent: it said `text`. */
  call?: string;
  text?: string;
}

/** The end of one `run`. */
export interface AgentReply {
  text: string;
  /** Kept for people to read, oldest first. Nothing continues from them. */
  notes?: AgentNote[];
  /** The model that answered. */
  model?: string;
  usage?: TokenUsage;
  /** The private sources of what the agent remembers, those of the turn included. */
  sources?: string[];
  /** The cost of the turn, if the agent reports it. Prices of the configuration take precedence. */
  cost?: number;
  /** Sentences for the run record, for example about a thinking level that was lowered. */
  warnings?: string[];
  /** Changes in the workspace: the service makes the call for it, and the turn ends with that. @internal */
  change?: OfferedChange;
  /** The agent was not asked: why, as a clause. */
  skipped?: string;
  /** The calls that the model asks for. With them the text may be empty, and the turn goes on once they have results. */
  calls?: RequestedCall[];
  /** With `calls`: the answer in the driver's own form, plain JSON, for the exchange that the next request begins from. */
  answer?: unknown;
}

/** Chat completions and responses as OpenAI has them, messages as Anthropic has them. */
export type ModelFormat = "chat" | "responses" | "messages";

/** The API of a provider. @internal */
export interface ModelApi {
  /** The name of the provider. */
  name: string;
  /** The protocols that it may speak. */
  formats: readonly ModelFormat[];
  /** Sends a request with the credential of the provider. `path`: relative to its address, such as `chat/completions`. */
  send(path: string, request: ModelApiRequest): Promise<ModelApiAnswer>;
  /** The text without the credential. */
  hide(text: string): string;
}

/** @internal */
export interface ModelApiRequest {
  method: string;
  headers: Record<string, string>;
  /** JSON. */
  body?: string;
  signal?: AbortSignal;
}

/** @internal */
export interface ModelApiAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Readable;
}

/** Runs agent turns. */
export interface AgentDriver {
  readonly name: string;
  /** Whether turns on this model may have `tools` and `exchanges`. Each `run` is then one request to it. Absent: none may. */
  canCall?(model: string | undefined): boolean;
  /** Whether what answers for this model makes `calls` by itself in one `run`. Absent: it makes none. */
  makesCalls?(model: string | undefined): boolean;
  /** Whether what answers for this model keeps the history itself, and is not sent it. Absent: none does. */
  keepsHistory?(model: string | undefined): boolean;
  /** Whether what answers for this model works on the files of `workspace`. Absent: it cannot. @internal */
  hasWorkspaces?(model: string | undefined): boolean;
  /** Rejects with a `DriverError`. After `signal` aborts it must settle soon and do nothing more. */
  run(turn: AgentTurn, signal: AbortSignal): Promise<AgentReply>;
  /** Its API, for an agent in a sandbox that asks one of its models. Absent: it has none. @internal */
  readonly modelApi?: ModelApi;
  /** Ends what the driver keeps running between turns, once no turn is running. */
  close?(): void;
}
