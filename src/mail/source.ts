/** One mail as the hook is given it: decoded, bounded, plain text. Strings are empty where the mail says nothing. */
export interface Mail {
  /**
   * The Message-ID without its angle brackets, else `sha256:` and a digest of the mail: the same wherever and whenever it is
   * read, since it is what repeats are known by. At most 512 characters.
   */
  id: string;
  /** The From header as a person reads it: `Ann Lee <ann@example.com>`. */
  from: string;
  /** Its address alone, in lower case. */
  sender: string;
  /** As `from`, one entry a recipient. */
  to: string[];
  cc: string[];
  subject: string;
  /** When it was written, or, where its Date header says nothing usable, received: ISO 8601. */
  date: string;
  /** The beginning of the text on one line, at most 200 characters. */
  snippet: string;
  /** The text, at most `maxBytes` of UTF-8, never cut within a character. Of a mail in HTML alone: its text. */
  body: string;
  /** Whether `body` was cut. */
  truncated: boolean;
  attachments: MailAttachment[];
  /** The provider's own thread, else the id of the mail that began it. */
  threadId: string;
  /** The mailing list, as its List-Id says without angle brackets. */
  listId: string;
  /** Where it lies. Of a provider that has labels only: empty. */
  folder: string;
  /** Keywords or labels by their names. */
  labels: string[];
  authentication: MailAuthentication;
}

export interface MailAttachment {
  name: string;
  /** `application/pdf` */
  type: string;
  /** Decoded size in bytes, as near as the source can tell. */
  size: number;
}

/** What the receiving server says of the sender, in its own words (`pass`, `fail`, `softfail` …); absent: it says nothing. */
export interface MailAuthentication {
  /** The server that says so: a name that the sender may have made up, unless `hooks.mail.authservId` names it. */
  server?: string;
  spf?: string;
  dkim?: string;
  dmarc?: string;
}

/** What a filter asks about a mail beyond what the hook is given. */
export interface MailMarks {
  spam: boolean;
  trash: boolean;
  draft: boolean;
}

export interface ReceivedMail {
  mail: Mail;
  marks: MailMarks;
}

/** Some mails in the order they came, and how far the mailbox is read once they are dealt with. */
export interface MailBatch {
  mails: ReceivedMail[];
  /** For the next `follow`. Only the source that gave it understands it. At most 4 KiB. */
  position: string;
  /** How many mails are known to wait behind these. */
  remaining: number;
}

export interface FollowOptions {
  /** Where the last `follow` of this folder had come to; undefined: this is the first. */
  position: string | undefined;
  /**
   * Milliseconds since the epoch. What came before is left out, at the first `follow` and wherever a position has lost its
   * meaning.
   */
  since: number;
  /** Whether the mail of this id was dealt with. Asked before a mail is fetched where a position has lost its meaning. */
  isKnown(id: string): boolean;
  /** Most mails of a batch. */
  batchSize: number;
  /** Most bytes of `Mail.body`. */
  maxBytes: number;
  /** Whose authentication results count; undefined: those of the topmost header. */
  authservId: string | undefined;
  /** Ends the iteration: it is then done, or rejects with anything. */
  signal: AbortSignal;
}

/** Reads a mailbox. Write one: a function from options to this object, and a line in `index.ts`. */
export interface MailSource {
  /** `imap`, `gmail`: the `source` of what the hook is given. */
  readonly name: string;
  /** Which mailbox it is, the same at every start: `imap://ann@mail.example.com`. */
  readonly mailbox: string;
  /** The addresses that mails of one's own come from, in lower case, as far as the settings tell. */
  readonly addresses: readonly string[];
  /** What is followed side by side, each with a position of its own. At least one. */
  readonly folders: readonly string[];
  /** Logs in and looks whether the folders are there. Rejects with a `MailError`. */
  check(signal: AbortSignal): Promise<void>;
  /**
   * Gives what a folder holds and what comes in, batch after batch, for as long as it can. The next batch is asked for when
   * the last one is dealt with. A batch may be empty and only move the position. The first one comes as soon as the folder
   * is open. Rejects with a `MailError`. A mail that cannot be understood is given as far as it can; none ends the iteration.
   */
  follow(folder: string, options: FollowOptions): AsyncIterable<MailBatch>;
  /** Where something outside can tell that the mailbox has changed: look now. It may never be called, or for nothing. */
  notify?(): void;
}
