import { MailError } from "../../errors.ts";
import type { GmailApi } from "./gmail-api.ts";
import { sameAddress } from "./same-address.ts";

/** Rejects with a `MailError` unless the consent opens this user's mailbox. */
export async function requireMailbox(api: GmailApi, user: string, signal: AbortSignal): Promise<void> {
  const { emailAddress } = await api.profile(signal);
  if (!emailAddress) throw new MailError("network", "Google: the answer is not Gmail's.");
  if (sameAddress(emailAddress, user)) return;
  const message = `The consent is for ${emailAddress}, and hooks.mail.source.user is ${user}. Run \`webhooks mail setup\` again.`;
  throw new MailError("login", message);
}
