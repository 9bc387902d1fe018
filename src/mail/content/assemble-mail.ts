import { createHash } from "node:crypto";
import { splitHeader } from "./split-header.ts";

const LINE_END = Buffer.from("\r\n");

/**
 * The bytes of a mail that was fetched in pieces: its header block, with the texts that are worth reading as its only parts.
 * Each entity is a part's own header lines, an empty line and its body as it travels; the last may be cut. What `readMail` takes.
 */
export function assembleMail(header: Uint8Array, entities: Uint8Array[]): Uint8Array {
  const { block } = splitHeader(Buffer.from(header));
  // Without a part the boundary itself would be read as a text.
  if (entities.length === 0)
    return Buffer.concat([Buffer.from("Content-Type: text/plain\r\n"), block, LINE_END]);
  const boundary = toBoundary(entities);
  // It stands first, since the first of several counts: the mail's own speaks of parts that are not here.
  const first = Buffer.from(`Content-Type: multipart/mixed; boundary="${boundary}"\r\n`);
  const between = Buffer.from(`\r\n--${boundary}\r\n`);
  const last = Buffer.from(`\r\n--${boundary}--\r\n`);
  return Buffer.concat([first, block, LINE_END, ...entities.flatMap((entity) => [between, entity]), last]);
}

/** The same for the same parts, and nothing that a part could hold: it would have to know its own digest. */
function toBoundary(entities: Uint8Array[]): string {
  const digest = createHash("sha256");
  for (const entity of entities) digest.update(entity);
  return `hookline-${digest.digest("hex")}`;
}
