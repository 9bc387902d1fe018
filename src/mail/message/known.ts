import type { FollowOptions, ReceivedMail } from "../../core/ports/mail-source.ts";

/** Leaves out what was processed before. Only the whole mail tells: a header and a size can be those of several mails. */
export async function withoutKnown(
  received: ReceivedMail[],
  { findKnown }: Pick<FollowOptions, "findKnown">,
): Promise<ReceivedMail[]> {
  const known = await findKnown(received.map(({ mail }) => mail.id));
  return received.filter(({ mail }) => !known.has(mail.id));
}
