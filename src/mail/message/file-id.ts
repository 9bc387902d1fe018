import { hash } from "node:crypto";
import type { Mail } from "../../core/ports/mail-source.ts";
import { FileRefused } from "../../core/shared/net/fetch-file.ts";
import { readMail } from "./read-mail.ts";

/** Where a file of a mail is. */
export interface FileId {
  /** The source's own name of the mail. */
  mail: string;
  /** `w0`: the first file of a mail that is read whole · `p2.1`: the part with this number. */
  at: string;
  digest: string;
}

const FORM = /^(?<at>w\d{1,3}|p[\d.]{0,60})\/(?<digest>[\w-]{43})\/(?<mail>\S{1,1000})$/;

/** Names the files of a mail, so that the source finds them again. */
export function withFileIds(mail: Mail, name: string): Mail {
  const digest = digestOf(mail);
  const attachments = mail.attachments.map((file, index) => ({
    ...file,
    id: `${file.id ?? `w${index}`}/${digest}/${encodeURIComponent(name)}`,
  }));
  return { ...mail, attachments };
}

/** Rejects with a `FileRefused`. */
export function parseFileId(id: string): FileId {
  const { at = "", digest = "", mail = "" } = FORM.exec(id)?.groups ?? {};
  try {
    if (mail !== "") return { at, digest, mail: decodeURIComponent(mail) };
  } catch {
    // A broken escape.
  }
  throw new FileRefused("its mail is not known");
}

/** Who may post to the hook could name any mail, but only who has this one knows its header. Rejects with a `FileRefused`. */
export async function requireMail({ digest }: FileId, bytes: Uint8Array | undefined): Promise<Uint8Array> {
  const facts = { folder: "", labels: [], receivedAt: 0 };
  const mail = bytes && (await readMail(bytes, facts, { maxBytes: 0 }));
  if (!bytes || !mail || digestOf(mail) !== digest) throw new FileRefused("its mail is gone");
  return bytes;
}

function digestOf({ messageId, from, to, cc, subject, references }: Mail): string {
  return hash("sha256", JSON.stringify([messageId, from, to, cc, subject, references]), "base64url");
}
