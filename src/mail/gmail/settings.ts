import type { Mailbox } from "../../config/schema/generated.ts";
import { MailError } from "../../errors.ts";

/** What a mailbox's settings have to say for Gmail. */
export interface GmailSettings extends Pick<Mailbox, "apiUrl" | "pubsubUrl"> {
  /** The address, in lower case. */
  user: string;
  oauth: NonNullable<Mailbox["oauth"]>;
  /** Where Gmail announces changes; undefined where nobody would hear of it. */
  topic: string | undefined;
  /** What is pulled; undefined: nothing is, what is announced is pushed. */
  subscription: string | undefined;
}

/** The settings of a mailbox of kind `gmail`. Throws a `MailError` where they cannot work. */
export function requireSettings(source: Mailbox): GmailSettings {
  const { user, oauth, topic, subscription, push, apiUrl, pubsubUrl } = source;
  if (!user?.includes("@")) throw refuse("needs `user`, the mailbox's address");
  if (!oauth) throw refuse("needs `oauth`");
  if (subscription && push) throw refuse("has `subscription` and `push`: one of them has to go");
  const isNotified = Boolean(subscription ?? push);
  if (isNotified && !topic) throw refuse("needs `topic` beside `subscription` or `push`");
  return {
    user: user.toLowerCase(),
    oauth,
    topic: isNotified ? topic : undefined,
    subscription,
    apiUrl,
    pubsubUrl,
  };
}

function refuse(reason: string): MailError {
  return new MailError("login", `hooks.mail.source ${reason}. Run \`webhooks mail setup\`.`);
}

/** Whether two addresses are one mailbox: Gmail's own people write theirs with and without dots, and with either domain. */
export function sameAddress(one: string, other: string): boolean {
  return toMailbox(one) === toMailbox(other);
}

function toMailbox(address: string): string {
  const [, name, domain] = /^(.*)@(.*)$/s.exec(address.toLowerCase()) ?? [];
  if (name === undefined || (domain !== "gmail.com" && domain !== "googlemail.com")) return address.toLowerCase();
  return `${name.replaceAll(".", "")}@gmail.com`;
}
