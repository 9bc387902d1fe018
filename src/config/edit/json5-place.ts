import type {
  ArrayNode,
  DocumentNode,
  ElementNode,
  MemberNode,
  ObjectNode,
  Token,
  ValueNode,
} from "@humanwhocodes/momoa";
import type { Segment } from "../key-path.ts";
import { parse } from "../momoa.ts";
import { detectJson5Style, type Json5Style } from "./json5-style.ts";

export type Container = ObjectNode | ArrayNode;
export type Item = MemberNode | ElementNode;

/** A text to be edited. */
export interface Json5Text {
  text: string;
  root: ValueNode;
  tokens: Token[];
  style: Json5Style;
}

/** How far a path leads into a text. */
export interface Json5Place {
  node: ValueNode;
  /** The item whose value it is, among its neighbours. */
  owner: { items: Item[]; index: number } | undefined;
  /** What of the path is not there. */
  rest: readonly Segment[];
}

/** Reads a text that holds no bad syntax. */
export function readJson5(text: string, json: boolean): Json5Text {
  const tree: DocumentNode = parse(text, { mode: "json5", tokens: true });
  return { text, root: tree.body, tokens: tree.tokens ?? [], style: detectJson5Style(text, tree, json) };
}

/** Follows a path as far as it is there. */
export function findPlace(
  node: ValueNode,
  path: readonly Segment[],
  owner?: Json5Place["owner"],
): Json5Place {
  const [first, ...rest] = path;
  const items = node.type === "Object" || node.type === "Array" ? itemsOf(node) : [];
  const index = items.findLastIndex((item, place) => nameOf(item, place) === first);
  const item = items[index];
  return item === undefined ? { node, owner, rest: path } : findPlace(item.value, rest, { items, index });
}

export function itemsOf(node: Container): Item[] {
  return node.type === "Object" ? node.members : node.elements;
}

export function rangeOf({ loc }: ValueNode | Item | Token): { from: number; to: number } {
  return { from: loc.start.offset, to: loc.end.offset };
}

/** Where the comma behind an item stands, comments in between or not. */
export function commaAfter({ tokens }: Json5Text, item: Item): { from: number; to: number } | undefined {
  const { to } = rangeOf(item);
  const next = tokens.find(({ type, loc }) => loc.start.offset >= to && !type.endsWith("Comment"));
  return next?.type === "Comma" ? rangeOf(next) : undefined;
}

function nameOf(item: Item, index: number): Segment {
  if (item.type === "Element") return index;
  return item.name.type === "Identifier" ? item.name.name : item.name.value;
}
