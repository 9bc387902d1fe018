import type { Random } from "../../faults/campaign/random.ts";

/** Makes mails of one kind, with the token in subject, Message-ID and text. */
export interface MailKind {
  name: string;
  make(context: MailContext): Promise<MadeMail> | MadeMail;
}

export interface MailContext {
  token: string;
  random: Random;
  date: Date;
}

export interface MadeMail {
  source: Buffer;
  /** The result that `readMail` must return, if that is certain. */
  expected?: Expected;
}

export interface Expected {
  subject: string;
  /** Part of the body. */
  text: string;
  from?: string;
  sender?: string;
  attachments?: string[];
}

export function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[random.below(items.length)] as Item;
}

/** `<token@mails.example>`, as in the Message-ID header. */
export function toMessageId(token: string): string {
  return `<${token}@mails.example>`;
}
