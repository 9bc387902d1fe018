/** How the formats of open models begin a call. A server that does not read the format leaves it in the text. */
const CALL =
  /^[ \t]*(?:<(?:[\w-]+:)?tool_calls?>|<function_call>|<function=[\w.-]+>|<invoke name=|<\|tool_calls?(?:_section)?_begin\|>|<\|python_tag\|>|\[TOOL_CALLS\])/;
const FENCE = /^[ \t]*(?:```|~~~)/;

/**
 * The text of an answer before a call that the model wrote into it; undefined if there is none. What follows such a call is
 * made up: the model has had no result. Within a fence it is an example.
 */
export function findWrittenCall(text: string): { before: string } | undefined {
  let isFenced = false;
  let start = 0;
  for (const line of text.split("\n")) {
    if (FENCE.test(line)) isFenced = !isFenced;
    else if (!isFenced && CALL.test(line)) return { before: text.slice(0, start).trim() };
    start += line.length + 1;
  }
  return undefined;
}
