import type { Run } from "../journal/port.ts";

/** A model's context has an end, and a burst may have none. */
const MOST_CHARACTERS = 200_000;

/**
 * The message of a coalesced run: its own and those that joined it, numbered, in the order they came. The first always
 * stands whole; where the others do not all fit, it says how many of the last are left out.
 */
export function joinMessages(first: string, joined: Run["joined"]): string {
  if (!joined) return first;
  const messages = takeFitting([first, ...joined.messages]);
  const count = 1 + joined.messages.length + joined.leftOut;
  const leftOut = count - messages.length;
  return [
    `${count} messages about one thing, in the order they came:`,
    ...messages.map((message, index) => `[${index + 1} of ${count}]\n${message}`),
    ...(leftOut > 0 ? [`[The last ${leftOut} are left out here: together they are too long.]`] : []),
  ].join("\n\n");
}

function takeFitting(messages: string[]): string[] {
  let characters = 0;
  const tooFar = messages.findIndex(({ length }) => (characters += length) > MOST_CHARACTERS);
  return tooFar === -1 ? messages : messages.slice(0, Math.max(tooFar, 1));
}
