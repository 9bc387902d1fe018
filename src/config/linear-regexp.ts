import { RE2JS } from "re2js";
import { messageOf } from "../errors.ts";
import { toRe2 } from "./to-re2.ts";

/** A regular expression ready for use. */
export interface Expression {
  test(text: string): boolean;
  /** As it was written: `/body/flags`. */
  toString(): string;
}

/** Told of an expression that can take for ever over a crafted text, and what in it is the reason. */
export type OnBacktracking = (expression: string, reason: string) => void;

/**
 * Prepares an operator's expression for hostile texts: it takes a time in proportion to the text, where JavaScript's
 * own engine may need more years than there are. Means what it means in JavaScript. What cannot be run so runs as
 * JavaScript runs it, after `onBacktracking`. `flags`: of i, m, s and u. Throws a `SyntaxError` for what is no expression.
 */
export function compileExpression(body: string, flags: string, onBacktracking: OnBacktracking): Expression {
  const native = new RegExp(body, flags);
  try {
    const linear = RE2JS.compile(toRe2(body, flags));
    return { test: (text) => linear.test(text), toString: () => String(native) };
  } catch (error) {
    onBacktracking(String(native), messageOf(error));
    return native;
  }
}
