import type { AnyNode, DocumentNode, MemberNode, ObjectNode, Token } from "@humanwhocodes/momoa";
import { indentOf, lineBefore } from "./splice.ts";

/** How a file is written, as far as it can be told. */
export interface Json5Style {
  /** One step of indentation. */
  unit: string;
  quote: '"' | "'";
  quoteKeys: boolean;
  /** Whether what stands on lines of its own ends with a comma, the last one too. */
  trailingComma: boolean;
}

/** `json`: it may hold nothing but JSON, since its name says so. */
export function detectJson5Style(text: string, tree: DocumentNode, json: boolean): Json5Style {
  const objects = objectsOf(tree.body);
  const names = objects.flatMap(({ members }) => members.map(({ name }) => name));
  return {
    unit: objects.map((object) => unitOf(text, object)).find(Boolean) ?? "  ",
    quote: !json && startsSingle(text, tree.tokens ?? []) ? "'" : '"',
    quoteKeys: json || (names.length > 0 && names.every(({ type }) => type === "String")),
    trailingComma: !json && hasTrailingComma(tree.tokens ?? []),
  };
}

/** Outer ones first. */
function objectsOf(node: AnyNode): ObjectNode[] {
  if (node.type === "Array") return node.elements.flatMap(({ value }) => objectsOf(value));
  if (node.type !== "Object") return [];
  return [node, ...node.members.flatMap(({ value }) => objectsOf(value))];
}

/** How much further in its members stand than the line that it begins on. */
function unitOf(text: string, { loc, members: [first] }: ObjectNode): string {
  if (first === undefined || !startsLine(text, first)) return "";
  const outer = indentOf(text, loc.start.offset);
  const inner = indentOf(text, first.loc.start.offset);
  return inner.startsWith(outer) ? inner.slice(outer.length) : "";
}

function startsLine(text: string, { loc }: MemberNode): boolean {
  return lineBefore(text, loc.start.offset).trim() === "";
}

function startsSingle(text: string, tokens: Token[]): boolean {
  const first = tokens.find(({ type }) => type === "String");
  return first !== undefined && text.charAt(first.loc.start.offset) === "'";
}

function hasTrailingComma(tokens: Token[]): boolean {
  const telling = tokens.filter(({ type }) => !type.endsWith("Comment"));
  return telling.some(({ type }, index) => type === "Comma" && isClosing(telling[index + 1]));
}

function isClosing(token: Token | undefined): boolean {
  return token?.type === "RBrace" || token?.type === "RBracket";
}
