/** One message that fits the channel's limit. */
export interface OutgoingMessage {
  /** The recipient in the channel's own form. It has passed `checkRecipient`. */
  to: string;
  text: string;
  /** `markdown`: an agent's reply, which the driver writes as its service shows it. Default: the text arrives as it is. */
  format?: "markdown";
  /** The same for each attempt of this message, so that a service that supports it can ignore a repeat. */
  idempotencyKey: string;
  /** An earlier attempt may have been accepted: a channel that can tell looks for its message before it sends another. */
  mayBeSent?: boolean;
  /** The id of an earlier message whose text this one replaces, if the channel has `canUpdate`. */
  replaces?: string;
}

/** Sends messages through one messaging service. */
export interface ChannelDriver {
  readonly name: string;
  /** The longest text of one message, in units of `measure`. */
  readonly limit: number;
  /** The length of a text as the service counts it. Default: UTF-16 code units. */
  measure?(text: string): number;
  /** Sends to a recipient that a payload chose only if the block's `allow` lists it, or a verified event is there. */
  readonly needsAllow?: boolean;
  /** Also as the place of a verified event: its signature does not say who wrote it. */
  readonly sourceNeedsAllow?: boolean;
  /** The part of a recipient that `allow` is compared with, without a thread. Default: all of it. */
  addressOf?(to: string): string;
  /** It replaces the text of an earlier message. */
  readonly canUpdate?: boolean;
  /**
   * Shows at the recipient that an answer is being written: a reaction, a typing notice. Resolves to what takes it away
   * again. Both may be called again after a crash.
   */
  startWorking?(to: string, signal: AbortSignal): Promise<() => Promise<void>>;
  /** Throws a permanent `DriverError` that shows the expected form when `to` cannot be a recipient. */
  checkRecipient(to: string): void;
  /**
   * Resolves when the service has accepted the message, with the id that it gave, unique on the service: an event about it
   * is recognised as an echo by this id. Rejects with a `DriverError`.
   */
  send(message: OutgoingMessage, signal: AbortSignal): Promise<{ messageId?: string }>;
}
