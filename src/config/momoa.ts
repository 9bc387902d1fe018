/** The JSON5 parser: tokens and a tree that knows where everything stands. */
export { parse, tokenize } from "@humanwhocodes/momoa";
