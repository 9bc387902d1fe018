import type { Mail } from "../port.ts";

/** Below this many characters nothing is gained by cutting in steps. */
const SHORT = 256;

/** The same mail with a quarter of its text, at last without any; undefined where there is none to cut. */
export function shorten(mail: Mail): Mail | undefined {
  const { length } = mail.body;
  if (length === 0) return undefined;
  const rest = length > SHORT ? mail.body.slice(0, length / 4) : "";
  // Half of a surrogate pair is no character.
  return { ...mail, body: rest.replace(/[\uD800-\uDBFF]$/, ""), truncated: true };
}
