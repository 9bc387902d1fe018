import { readMail } from "../content/read-mail.ts";
import type { FollowOptions, ReceivedMail } from "../port.ts";
import type { OpenFolder } from "./open-folder.ts";

/** A mail of which the server gives nothing at all: that it is there, under an id that stays the same. */
export async function readNothing(
  { name, uidValidity }: OpenFolder,
  uid: number,
  options: FollowOptions,
): Promise<ReceivedMail> {
  const id = `${uid}.${uidValidity}.${encodeURIComponent(name)}@unreadable.invalid`;
  const header = Buffer.from(`Message-ID: <${id}>\r\n`);
  const mail = await readMail(header, { folder: name, labels: [], receivedAt: Date.now() }, options);
  return { mail: { ...mail, truncated: true }, marks: { spam: false, trash: false, draft: false } };
}
