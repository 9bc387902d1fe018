import type { Options } from "ajv";
import { compileExpression, type Expression, type OnBacktracking } from "./linear-regexp.ts";

type Engine = NonNullable<NonNullable<Options["code"]>["regExp"]>;

/** What a schema's validator makes its expressions with; each once, as it asks whenever the schema comes by one. */
export function createLinearEngine(onBacktracking: OnBacktracking): Engine {
  const expressions = new Map<string, Expression>();
  const compile = (pattern: string, flags: string): Expression => {
    const expression = expressions.get(pattern) ?? compileExpression(pattern, flags, onBacktracking);
    expressions.set(pattern, expression);
    return expression;
  };
  // The name is for validators that are written to a file.
  return Object.assign(compile, { code: "compileExpression" });
}
