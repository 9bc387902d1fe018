/** The only way out of an isolate: the name of an operation of the child and its arguments as JSON, strings both ways. */
export type HostCall = (operation: string, args: string) => string;

/** What the child says to an operation, as JSON. */
export type HostReply = { value: string } | { error: string };

const MAX_ARGUMENT_LENGTH = 4 * 1024 * 1024;

/** Calls an operation of the child; throws a TypeError with the child's sentence where it refuses. */
export type Ask = (operation: string, ...args: (string | boolean)[]) => string;

export function createAsk(call: HostCall): Ask {
  return function ask(operation, ...args) {
    const text = JSON.stringify(args);
    if (text.length > MAX_ARGUMENT_LENGTH) throw new RangeError("The argument is too long for the sandbox.");
    const reply: HostReply = JSON.parse(call(operation, text));
    if ("error" in reply) throw new TypeError(reply.error);
    return reply.value;
  };
}
