import type { Random } from "../../faults/campaign/random.ts";

/** What makes a mail of one kind: bytes with the token in subject, Message-ID and text. */
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
  /** What must be read from it, where that is certain. */
  expected?: Expected;
}

export interface Expected {
  subject: string;
  /** A piece of the body. */
  text: string;
  from?: string;
  sender?: string;
  attachments?: string[];
}

export function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[random.below(items.length)] as Item;
}

/** `<token@mails.example>`, as the Message-ID header has it. */
export function toMessageId(token: string): string {
  return `<${token}@mails.example>`;
}
