/**
 * The bytes of a mail that was fetched in pieces: its header block, with the texts that are worth reading as its only parts.
 * Each entity is a part's own header lines, an empty line and its body as it travels; the last may be cut. What `readMail` takes.
 */
export function assembleMail(header: Uint8Array, entities: Uint8Array[]): Uint8Array {
  throw new Error("not written yet", { cause: { header, entities } });
}
