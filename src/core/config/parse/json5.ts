import { type MemberNode, parse, tokenize, type ValueNode } from "@humanwhocodes/momoa";
import { appendSegment } from "../../shared/json.ts";
import { withPeriod } from "../../shared/text/text.ts";

/** A place in a file, both 1-based. */
export interface Position {
  line: number;
  column: number;
}

/** A parser's result. With syntax problems the rest is empty. */
export interface ParsedText {
  value: unknown;
  /** By dotted path. */
  positions: Map<string, Position>;
  duplicates: (Position & { key: string })[];
  syntax: (Partial<Position> & { message: string })[];
  /** Values that a person may not have meant. */
  warnings?: (Position & { key: string; message: string })[];
}

/** Parses JSON5, and with it JSON. Throws a `RangeError` on a text nested too deeply. */
export function parseJson5(text: string): ParsedText {
  const parsed: ParsedText = { value: undefined, positions: new Map(), duplicates: [], syntax: [] };
  try {
    const { body } = parse(text, { mode: "json5" });
    parsed.positions.set("", body.loc.start);
    parsed.value = toValue(body, "", parsed);
  } catch (error) {
    if (!isLocated(error)) throw error;
    parsed.syntax.push(toSyntaxProblem(error, text));
  }
  return parsed;
}

function toValue(node: ValueNode, key: string, parsed: ParsedText): unknown {
  switch (node.type) {
    case "Object":
      // An assignment would not keep a key `__proto__`, which must be reported as unknown.
      return Object.fromEntries(node.members.map((member) => toEntry(member, key, parsed)));
    case "Array":
      return node.elements.map(({ value }, index) => toItem(value, appendSegment(key, index), parsed));
    case "Null":
      return null;
    case "NaN":
      return Number.NaN;
    case "Infinity":
      return node.sign === "-" ? -Infinity : Infinity;
    default:
      return node.value;
  }
}

function toEntry({ name, value }: MemberNode, parent: string, parsed: ParsedText): [string, unknown] {
  const field = name.type === "Identifier" ? name.name : name.value;
  const key = appendSegment(parent, field);
  const place = toPosition(name.loc.start);
  if (parsed.positions.has(key)) parsed.duplicates.push({ key, ...place });
  parsed.positions.set(key, place);
  return [field, toValue(value, key, parsed)];
}

function toItem(value: ValueNode, key: string, parsed: ParsedText): unknown {
  parsed.positions.set(key, toPosition(value.loc.start));
  return toValue(value, key, parsed);
}

function toPosition({ line, column }: Position): Position {
  return { line, column };
}

interface LocatedError extends Error, Position {
  offset: number;
}

function isLocated(error: unknown): error is LocatedError {
  return error instanceof Error && "line" in error && "column" in error && "offset" in error;
}

function toSyntaxProblem(error: LocatedError, text: string): Position & { message: string } {
  const { line, column, offset } = error;
  const reason = toReason(error.message);
  if (isAtEnd(reason, text.slice(offset))) {
    return {
      ...endOf(text),
      message: "This is not JSON5: unexpected end of file, or an extra closing bracket at the end.",
    };
  }
  return { line, column, message: `This is not JSON5: ${withPeriod(reason)}` };
}

const TOKENS: Record<string, string> = {
  LBrace: '"{"',
  RBrace: '"}"',
  LBracket: '"["',
  RBracket: '"]"',
  Comma: '","',
  Colon: '":"',
  Identifier: "word",
};

function toReason(message: string): string {
  const token = /^Unexpected token (\w+) found/.exec(message)?.[1];
  if (token === undefined) return message.replace(/ \(\d+:\d+\)$/, "");
  const name = TOKENS[token] ?? token.toLowerCase();
  return `unexpected ${name}. Is a comma, a colon or a quote missing before it?`;
}

/**
 * At the end of the text the parser reports the last token, or the first line.
 */
function isAtEnd(reason: string, rest: string): boolean {
  return reason.includes("end of input") || (reason.startsWith("unexpected") && rest.trim().length === 1);
}

function endOf(text: string): Position {
  const lines = text.trimEnd().split("\n");
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

/** The JSON5 parser: tokens, and a tree with positions. */
export { parse, tokenize };
