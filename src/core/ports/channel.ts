import type { RepositoryHost } from "./repository.ts";
import type { DiffLine } from "../shared/text/diff.ts";

/** The diff of one commit at a recipient. */
export interface ChangeDiff {
  /** Where the diff begins, as the service names it. */
  base?: string;
  start?: string;
  files: DiffFile[];
}

interface DiffFile {
  path: string;
  /** The earlier path, if the file was renamed. */
  oldPath?: string;
  /** Its hunks, as `git diff` writes them. */
  patch: string;
}

/** The verdict of a review on the commit as a whole. */
export type ReviewVerdict = "comment" | "request-changes" | "approve";

/** A review of a commit. Each of its comments is on lines of the diff. */
export interface Review extends Pick<ChangeDiff, "base" | "start"> {
  verdict: ReviewVerdict;
  commit: string;
  comments: LineComment[];
}

/** A comment of a review on some lines. */
export interface LineComment {
  path: string;
  oldPath: string;
  /** Which of the two files the comment is on. */
  side: "new" | "old";
  /** The first line, in the same hunk, if the comment is about several. */
  first?: DiffLine;
  line: DiffLine;
  /** Markdown. */
  text: string;
}

/** A file, and from where it may be read. */
export interface FileAddress {
  url: string;
  /** The credential, if this address is of the service itself. */
  headers?: Record<string, string>;
  /** Hosts of the service's files; `*.example.com` is every host below it. Redirects lead there too, without the credential. */
  hosts: readonly string[];
  /** The address of the service's API, which may be in a private network. */
  baseUrl?: string;
}

interface MessageSubject {
  eventId?: string;
  runId?: string;
  hook?: string;
  sessionKey?: string;
}

/** A template of the configuration, as those of mappings are. */
export interface MessageTemplate {
  /** Throws if the text would be too long. */
  render(context: object): string;
}

/** A button below a question. */
export interface Button {
  label: string;
  /** Proves that a press is one of this button: nobody else knows it. */
  value: string;
  tone?: "good" | "bad";
}

/** One message that fits the channel's limit. */
export interface OutgoingMessage {
  /** The recipient in the channel's own form. It has passed `checkRecipient`. */
  to: string;
  text: string;
  /** `markdown`: an agent's reply, which the driver writes as its service shows it. Default: the text arrives as it is. */
  format?: "markdown";
  /** The message says that a run has failed. A service may show that in its own way. */
  isNotice?: boolean;
  /** The same for each attempt of this message, so that a service that supports it can ignore a repeat. */
  idempotencyKey: string;
  /** Signs a text with a key of this store: what is signed can be recognized as this service's own. */
  sign?(text: string): Uint8Array;
  /** Ids of the messages that it answers, the first one of the thread first. */
  references?: string[];
  /** The subject of the message that it answers. */
  subject?: string;
  /**
   * The message belongs into the thread of its session. `to`: the thread, as an earlier `send` gave it; if that is gone, the message
   * opens another. Absent: it opens one. Only for a channel with `isThread`.
   */
  thread?: { to?: string };
  /** An earlier attempt may have been accepted: a channel that can tell looks for its message before it sends another. */
  mayBeSent?: boolean;
  /** The id of an earlier message whose text this one replaces, if the channel has `canUpdate`. */
  replaces?: string;
  /** Below the text, if the channel has `buttons`. Empty: the message that it replaces has some, and has none from now on. */
  buttons?: readonly Button[];
  /** Where presses are posted to, for a service that gets the address with each button. */
  pressUrl?: string;
  /** The text is that of a review, if the channel has `readDiff`. */
  review?: Review;
  /** Absent: it is about no run, as an alert. */
  about?: MessageSubject;
  /** The event that it is about, as templates see it. Absent: there is none. */
  readEvent?(): Promise<object>;
}

/** Sends messages through one messaging service. */
export interface ChannelDriver extends Partial<RepositoryHost> {
  readonly name: string;
  /** The longest text of one message, in units of `measure`. */
  readonly limit: number;
  /** The length of a text as the service counts it. Default: UTF-16 code units. */
  measure?(text: string): number;
  /** The length of an agent's Markdown as the service shows it, in the same units. Default: that of the text. */
  measureMarkdown?(markdown: string): Promise<number>;
  /** How many parts a reply has at most. Default: ten. */
  readonly maxParts?: number;
  /** Between two parts of one reply, in milliseconds. Default: a second. */
  readonly pauseMs?: number;
  /** Sends to a recipient that a payload chose only if the block's `allow` lists it, or a verified event is there. */
  readonly needsAllow?: boolean;
  /** Places of verified events must be in `allow` too: the signature does not say who wrote the event. */
  readonly sourceNeedsAllow?: boolean;
  /** Whether a recipient is the account itself: an answer there would come back as an event. Default: none is. */
  isOwn?(to: string): boolean;
  /** The part of a recipient that `allow` is compared with, without a thread. Default: all of it. */
  addressOf?(to: string): string;
  /** Whether a recipient is a thread already. Absent: the service has no threads. */
  isThread?(to: string): boolean;
  /**
   * The id of the first message of the thread that a message is in, for a service whose events do not tell it. Rejects with a
   * `DriverError`.
   */
  findRoot?(messageId: string, signal: AbortSignal): Promise<string | undefined>;
  /** A message can have buttons. `limit`: the longest text of one that has, if it is another. `needsUrl`: of `pressUrl`. */
  readonly buttons?: { readonly limit?: number; readonly needsUrl?: boolean };
  /** Shows a text to one person alone. Absent: the answer to a press can, or nothing. */
  tell?(to: string, person: string, text: string, signal: AbortSignal): Promise<void>;
  /** Updates replace the text of an earlier message. */
  readonly canUpdate?: boolean;
  /**
   * The diff of a commit, of which `send` takes a review. Undefined: the recipient has no such commit, or nothing that can be
   * reviewed.
   */
  readDiff?(to: string, commit: string, signal: AbortSignal): Promise<ChangeDiff | undefined>;
  /** Deletes an earlier message. Resolves also if it is gone. */
  remove?(to: string, messageId: string, signal: AbortSignal, sign?: OutgoingMessage["sign"]): Promise<void>;
  /**
   * Shows at the recipient that an answer is being written: a reaction, a typing notice. Resolves to what takes it away
   * again. Both may be called again after a crash.
   */
  startWorking?(to: string, signal: AbortSignal): Promise<() => Promise<void>>;
  /** The address of the service's API, and the headers that authorize a request there. `to`: what it is about, as a recipient. */
  authorize?(to: string, signal: AbortSignal): Promise<{ baseUrl: string; headers: Record<string, string> }>;
  /**
   * Where a file of an event is: by its address, or its id. `to`: the place of the event. Rejects with a `DriverError`.
   */
  openFile?(file: { url?: string; id?: string }, to: string, signal: AbortSignal): Promise<FileAddress>;
  /** Throws a permanent `DriverError` that shows the expected form when `to` cannot be a recipient. */
  checkRecipient(to: string): void;
  /**
   * Resolves when the service has accepted the message, with the id that it gave, unique on the service: an event about it
   * is recognized as an echo by this id. `thread`: where the message is, or what it opened, if it belongs into a thread.
   * `warnings`: what is different from what was asked for, in sentences. Rejects with a `DriverError`.
   */
  send(
    message: OutgoingMessage,
    signal: AbortSignal,
  ): Promise<{ messageId?: string; thread?: string; warnings?: string[] }>;
}
