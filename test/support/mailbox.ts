import { EventEmitter, once } from "node:events";
import { MailError } from "../../src/core/errors.ts";
import type { FollowOptions, Mail, MailBatch, MailSource, ReceivedMail } from "../../src/core/ports/mail-source.ts";

export interface Mailbox {
  source: MailSource;
  /** Appends a mail. */
  add(mail: Partial<Mail> & { id: string }, marks?: Partial<ReceivedMail["marks"]>): void;
  /**
   * Every `follow` rejects with this, also a running one, until it is reset with undefined. With `once` each says
   * before how many mails wait.
   */
  fail(error: Error | undefined, when?: { once?: "open" }): void;
  /** The arguments of each `follow`. */
  follows: FollowOptions[];
}

/** A mailbox in memory that is also a mail source. A position is the number of mails read. */
export function createMailbox({ folders = ["INBOX"] }: { folders?: string[] } = {}): Mailbox {
  const mails: ReceivedMail[] = [];
  const changes = new EventEmitter().setMaxListeners(0);
  let failure: Error | undefined;
  let failsOnceOpen = false;
  const follows: FollowOptions[] = [];

  async function* follow(folder: string, options: FollowOptions): AsyncGenerator<MailBatch> {
    follows.push(options);
    let read = Number(options.position ?? 0);
    for (let isFirst = true; ; isFirst = false) {
      if (failure && !(isFirst && failsOnceOpen)) throw failure;
      const waiting = mails.filter((received) => received.mail.folder === folder).slice(read);
      const batch = failure ? [] : waiting.slice(0, options.batchSize);
      if (batch.length === 0 && !isFirst) {
        await once(changes, "change", { signal: options.signal });
        continue;
      }
      read += batch.length;
      yield { mails: batch, position: String(read), remaining: waiting.length - batch.length };
    }
  }

  return {
    source: {
      mailbox: "memory://me",
      addresses: ["me@example.com"],
      folders,
      check: async () => {
        if (failure) throw failure;
      },
      follow,
    },
    add(mail, marks = {}) {
      mails.push({
        mail: { ...toMail(mail.id), folder: folders[0] ?? "", ...mail },
        marks: { spam: false, trash: false, draft: false, ...marks },
      });
      changes.emit("change");
    },
    fail(error, { once: moment } = {}) {
      failure = error;
      failsOnceOpen = moment === "open";
      changes.emit("change");
    },
    follows,
  };
}

/** A mail with all fields. */
export function toMail(id: string): Mail {
  return {
    id,
    messageId: id,
    from: "Ann Lee <ann@example.com>",
    sender: "ann@example.com",
    replyTo: [],
    participants: [],
    replyAddress: "",
    to: ["me@example.com"],
    cc: [],
    subject: `Mail ${id}`,
    date: "2026-11-20T12:00:00.000Z",
    snippet: "Hello",
    body: "Hello",
    truncated: false,
    attachments: [],
    threadId: id,
    listId: "",
    folder: "INBOX",
    labels: [],
    authentication: {},
  };
}

export const loginRefused = (): MailError => new MailError("login", "example.com refuses the login");
export const tlsFailed = (): MailError => new MailError("tls", "example.com speaks no TLS");
export const mailboxGone = (): MailError => new MailError("gone", "there is no folder INBOX");
export const connectionLost = (): MailError => new MailError("network", "the connection was lost");
