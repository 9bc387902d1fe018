import { HookError } from "../../errors.ts";
import type { Mail } from "../source.ts";
import { readMail } from "./read-mail.ts";

/** What the mail hook receives. */
export interface MailPayload {
  source: string;
  messages: Mail[];
}

/** Reads a mail that was posted as it is (message/rfc822). Throws a 400 if it has no author, so is probably no mail. */
export async function readPostedMail(
  bytes: Uint8Array,
  { maxBytes, authservId }: { maxBytes: number; authservId?: string },
): Promise<MailPayload> {
  const mail = await readMail(bytes, { folder: "", labels: [], receivedAt: Date.now() }, { maxBytes, authservId });
  if (mail.from !== "") return { source: "rfc822", messages: [mail] };
  throw new HookError("invalid_payload", { message: "The body is not a mail: it has no From header." });
}
