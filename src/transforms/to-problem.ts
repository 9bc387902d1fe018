import path from "node:path";
import type { Message } from "./esbuild.ts";
import type { ConfigProblem } from "../errors.ts";
import { showLine } from "./show-line.ts";

/** An esbuild error as the operator is shown it. */
export function toProblem({ text, location }: Message, root: string): ConfigProblem {
  if (!location) return { message: text };
  const { line, column, lineText } = location;
  return {
    message: text,
    file: path.resolve(root, location.file),
    line,
    column: column + 1,
    excerpt: showLine(lineText, line, column + 1),
  };
}
