/** A mail as the hook receives it: decoded, bounded, plain text. Strings are empty if the mail says nothing. */
export interface Mail {
  /**
   * Identifies the mail, and so its repeats: the Message-ID, `#` and a digest of From, Date, Subject, body and size, since a sender
   * can choose the Message-ID of another mail. Without a Message-ID `sha256:` and a digest of the mail. At most 200 characters.
   */
  id: string;
  /** The Message-ID without angle brackets, at most 980 characters. */
  messageId: string;
  /** The From header, decoded: `Ann Lee <ann@example.com>`. */
  from: string;
  /** Only the address, in lower case. Empty unless the From header has exactly one. */
  sender: string;
  /** Where answers go, like `to`; empty if the mail does not say so. */
  replyTo: string[];
  /** Only the address in Reply-To, in lower case. Empty unless the mail has exactly one. */
  replyAddress: string;
  /** The addresses in From, Reply-To, To and Cc, in lower case. At most 100. */
  participants: string[];
  /** Like `from`, one entry per recipient. */
  to: string[];
  cc: string[];
  subject: string;
  /** ISO 8601. The Date header, or the time of receipt if the header is unusable. */
  date: string;
  /** The beginning of the text on one line, at most 200 characters. */
  snippet: string;
  /** The text, of an HTML mail as plain text. At most `maxBytes` of UTF-8, never cut within a character. */
  body: string;
  /** Whether `body` was cut. */
  truncated: boolean;
  attachments: MailAttachment[];
  /** The provider's thread, or the id of the mail that began the thread. At most 200 characters: a long one ends with its digest. */
  threadId: string;
  /** The ids of the mails before it, the first one of the thread first. Absent: it names none. */
  references?: string[];
  /** The mailing list: the List-Id without angle brackets. */
  listId: string;
  /** Why no program should answer it, such as `Auto-Submitted: auto-replied`. Absent: there is no reason. */
  automatic?: string;
  /** Empty if the provider has only labels. */
  folder: string;
  /** Names of keywords or labels. */
  labels: string[];
  authentication: MailAuthentication;
}

/** An attachment of a mail, without its content. */
export interface MailAttachment {
  name: string;
  /** `application/pdf` */
  type: string;
  /** Decoded size in bytes, as near as the source can tell. */
  size: number;
  /** Opens it by `readFile` of its source, which alone understands it. At most 2000 characters, without blanks and commas. */
  id?: string;
}

/**
 * The receiving server's verdict on the sender, in its own words (`pass`, `fail`, `softfail` …). Absent: it says
 * nothing.
 */
export interface MailAuthentication {
  /** The server that says so. */
  server?: string;
  spf?: string;
  dkim?: string;
  dmarc?: string;
  /** The sender may have written all of it: it is not known which server's results count. Set `hooks.mail.authservId`. */
  forgeable?: true;
}

/** Properties of a mail for filters. The hook does not get them. */
export interface MailMarks {
  spam: boolean;
  trash: boolean;
  draft: boolean;
  /** The owner of the mailbox sent it, as far as the addresses do not tell. */
  own?: boolean;
}

/** A mail of a batch. */
export interface ReceivedMail {
  mail: Mail;
  marks: MailMarks;
}

/** Some mails in the order of their arrival, and how far the mailbox is read after them. */
export interface MailBatch {
  mails: ReceivedMail[];
  /** For the next `follow`. Only the source understands it. At most 4 KiB. */
  position: string;
  /** How many more mails are known to wait. */
  remaining: number;
}

/** Where and how a folder is read. */
export interface FollowOptions {
  /** The position of the last batch of an earlier `follow`; undefined for the first one. */
  position: string | undefined;
  /**
   * Milliseconds since the epoch. Without a valid position, mail received before is left out. Absent: what is there when the folder
   * is first opened is left out, whatever the clocks say.
   */
  since?: number;
  /** Which of these ids belong to processed mails. If a position is lost, these are not given again. */
  findKnown(ids: string[]): Promise<ReadonlySet<string>>;
  /** Maximum number of mails in a batch. */
  batchSize: number;
  /** Maximum size of `Mail.body`. */
  maxBytes: number;
  /** The server whose authentication results count; undefined: those of the topmost header, which the sender may have written. */
  authservId: string | undefined;
  /** Ends the iteration, or makes it reject with anything. */
  signal: AbortSignal;
  /** Absent: a refresh token that the server replaces is kept in memory only. */
  refreshTokens?: RefreshTokens;
}

/** Keeps the refresh tokens of a mailbox that a server replaced, across restarts. */
export interface RefreshTokens {
  /** The token that replaced a configured one; undefined: none so far. */
  find(configured: string): Promise<string | undefined>;
  replace(configured: string, token: string): Promise<void>;
}

/** The account of a mailbox, for a channel that sends from it. Its calls reject with a `MailError`. */
export interface MailAccount {
  /** The login name. */
  readonly user: string;
  /** The server keeps a copy of what is sent through its own SMTP server. */
  readonly keepsSent: boolean;
  /** A password, or an access token that is valid for a while. */
  credential(signal: AbortSignal): Promise<{ password: string } | { accessToken: string }>;
  /** Does not give this access token again. */
  forget(accessToken: string): void;
  /** Whether the folder of sent mail has a mail with this Message-ID, which has no angle brackets. */
  hasSent(messageId: string, signal: AbortSignal): Promise<boolean>;
  /** Adds a mail to the folder of sent mail, unless its Message-ID is there. */
  keepSent(mail: { messageId: string; raw: Uint8Array }, signal: AbortSignal): Promise<void>;
}

/** Reads a mailbox. To add one, write a `DriverDefinition` for it, and a line in `sources.ts` or in a plugin. */
export interface MailSource {
  /** Identifies the mailbox, the same at every start: `imap://ann@mail.example.com`. */
  readonly mailbox: string;
  /** The user's own addresses, in lower case, as far as the settings tell. */
  readonly addresses: readonly string[];
  /** Followed in parallel, each with its own position. At least one. */
  readonly folders: readonly string[];
  /** Logs in and checks that the folders exist. Rejects with a `MailError`. */
  check(signal: AbortSignal): Promise<void>;
  /**
   * Gives the mail of a folder, and new mail as it arrives. The next batch is requested when the last one is processed. The first
   * batch comes as soon as the folder is open; a batch may be empty and only move the position. Rejects with a `MailError`. Gives
   * malformed mail as far as possible.
   */
  follow(folder: string, options: FollowOptions): AsyncIterable<MailBatch>;
  /** Absent: no channel can send from it. @internal */
  readonly account?: MailAccount;
  /**
   * The bytes of a file of a mail, by the id of its attachment. It refuses an id that anybody could make up who does not have the
   * mail. Rejects with a `MailError`. Absent: no file can be read.
   */
  readFile?(id: string, options: { maxBytes: number; signal: AbortSignal }): Promise<Uint8Array>;
  /** Called when the mailbox may have changed, if something outside can tell. */
  notify?(): void;
}
