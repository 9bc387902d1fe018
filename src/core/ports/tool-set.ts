/** One call of a tool set, as an operator or a model sees it. */
export interface CallDescription {
  /** Its name within the set. */
  name: string;
  /** A description for the person or model that chooses it. */
  description: string;
  /** JSON Schema of the arguments, of type `object`. */
  input: Record<string, unknown>;
}

/** A call that cannot be used. */
export interface LeftOutCall {
  /** Its name within the set. */
  name: string;
  /** Why, without a period: `its schema cannot be used: …`. It may hold names of the server. */
  reason: string;
}

/** The calls of a server: each can be used, or is left out by itself. */
export interface Offer {
  calls: CallDescription[];
  leftOut: LeftOutCall[];
}

/** The conditions of one call. */
export interface CallContext {
  signal: AbortSignal;
  /** The same when a call is repeated, so that a service which knows such ids does its work once. */
  callId: string;
  /** How many characters of the result are used. The driver stops reading there. */
  maxLength: number;
  /** The operator says that it only reads, or may be repeated: the driver may send it twice. */
  isRepeatable?: boolean;
  /** Signs a text with a key of this store. */
  sign?(text: string): Uint8Array;
}

/** A pull request that a call has made or found. */
interface PublishedChange {
  /** The recipient of comments there. */
  to: string;
  url: string;
  branch: string;
}

/** The known outcome of one call. */
export interface CallResult {
  /** The answer: text from outside, also that of an error. */
  text: string;
  /** The call was refused or failed, and it is known that it did. */
  isError: boolean;
  /** With `isError`: what happened, in one sentence of this program that holds no text from outside. */
  reason?: string;
  /** The change that was published. @internal */
  published?: PublishedChange;
  /** The message that was sent: where, and its id. */
  sent?: { to: string; messageId?: string };
  /** The call was not sent, because it differs from what the operator has accepted. */
  isChanged?: true;
  /** The call was not sent, because there is no connection to the server of the set. */
  isUnreached?: true;
}

/** The result of a call that was refused or failed. `text`: what was answered, if that is more than the reason. */
export function toError(reason: string, text: string = reason): CallResult {
  return { text, isError: true, reason };
}

/** A call of a set, with how it is executed. */
export interface ToolCall extends CallDescription {
  /** Where it is sent, for a person who decides about it: `POST https://payments.example/refunds`. Absent: not shown. */
  address?: string;
  /** How many characters of its result are used, if that differs from its set's. */
  maxResultLength?: number;
  /** Arguments that only an event gives: without a grant that fixes all of them, nobody can call it. */
  place?: readonly string[];
  /** Arguments that people read as a message: their links are closed as those of a reply. */
  texts?: readonly string[];
  /**
   * Executes the call once; the arguments fit its schema. Resolves if the outcome is known, also when nothing was sent.
   * Rejects with a `DriverError` if the call was sent and its outcome is not known. After `signal` aborts it must settle
   * soon and do nothing more.
   */
  call(args: Record<string, unknown>, context: CallContext): Promise<CallResult>;
}

/** A group of calls that share an address, a credential and an audience: a block of `agents.tools`. */
export interface ToolSet {
  readonly name: string;
  /** Known without a connection. Nothing else can be called. */
  readonly calls: readonly ToolCall[];
  /** Accepted calls that cannot be used. */
  readonly leftOut?: readonly LeftOutCall[];
  /** For a set whose calls are accepted from a server: what the server offers now. Rejects with a `DriverError`. */
  discover?(signal: AbortSignal): Promise<Offer>;
  /** Ends what the set keeps running between calls, once no call is running. */
  close?(): void;
}
