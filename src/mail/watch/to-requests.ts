import { isDeepStrictEqual } from "node:util";
import type { Mail } from "../port.ts";

/** What stands around the mails of a body, generously. */
const ENVELOPE_BYTES = 256;

/** The body of one request. */
export function toBody(source: string, mails: Mail[]): string {
  return JSON.stringify({ source, messages: mails });
}

/**
 * Mails as they are posted together: neighbours whose authentication says the same, so that a mapping's `match.where` can
 * speak of it, and as many as fit into a body of `maxBytes`. One that is larger by itself stands alone.
 */
export function toRequests(mails: Mail[], maxBytes: number): Mail[][] {
  const requests: Mail[][] = [];
  let room = 0;
  for (const mail of mails) {
    const bytes = Buffer.byteLength(JSON.stringify(mail)) + 1;
    const last = requests.at(-1);
    if (last && bytes <= room && isDeepStrictEqual(last[0]?.authentication, mail.authentication)) {
      last.push(mail);
      room -= bytes;
    } else {
      requests.push([mail]);
      room = maxBytes - ENVELOPE_BYTES - bytes;
    }
  }
  return requests;
}
