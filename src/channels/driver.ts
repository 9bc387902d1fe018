import type { ChannelName } from "../types.ts";

/** One message that fits the channel's limit. */
export interface OutgoingMessage {
  /** Recipient in the channel's own form. */
  to: string;
  text: string;
  /** The same on every try of this message: channels that can recognise a repeat are given it. */
  idempotencyKey: string;
}

/** Sends messages to one messaging service. Write one: a function from options to this object, and a line in `index.ts`. */
export interface ChannelDriver {
  readonly name: ChannelName;
  /** The longest text of one message, in units of `measure`. */
  readonly limit: number;
  /** Length of a text as the service counts it. Absent: UTF-16 code units. */
  measure?(text: string): number;
  /** Throws a lasting `DriverError` that shows the expected form where `to` cannot be a recipient. */
  checkRecipient(to: string): void;
  /**
   * Resolves once the service has taken the message, or rejects with a `DriverError`: passing (with `retryAfterMs`
   * where the service named a time) or lasting.
   */
  send(message: OutgoingMessage, signal: AbortSignal): Promise<{ messageId?: string }>;
}
