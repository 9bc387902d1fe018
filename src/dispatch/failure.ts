import { DriverError } from "../errors.ts";

/** The longest error that is kept, in characters. */
const MOST_CHARACTERS = 500;

/** What went wrong as an error whose message can be shown: drivers choose their words, anything else is a fault of ours. */
export function toFailure(cause: unknown): Error {
  if (cause instanceof DriverError && cause.message.length <= MOST_CHARACTERS) return cause;
  const text = cause instanceof DriverError ? cause.message : `unexpected fault: ${String(cause)}`;
  return new Error(text.slice(0, MOST_CHARACTERS), { cause });
}
