import type { Node, Pair, YAMLMap } from "yaml";
import type { Segment } from "../key-path.ts";
import { isMap, isNode, isPair, isScalar, isSeq } from "../yaml.ts";
import { lineBefore } from "./splice.ts";

/** How far a path leads into a document. */
export interface YamlPlace {
  /** What stands there; undefined: nothing at all. */
  node: Node | undefined;
  /** The pair whose value it is, and its map. */
  pair?: Pair;
  owner?: YAMLMap;
  /** What of the path is not there. */
  rest: readonly Segment[];
}

/** Follows a path as far as it is there. Aliases are not followed: what they bring in stands elsewhere. */
export function findPlace(node: Node | undefined, path: readonly Segment[]): YamlPlace {
  return descend({ node, rest: path });
}

/** Where a node's own text begins and ends, without what follows it. */
export function rangeOf(node: unknown): [number, number] {
  const [from, to] = (isNode(node) && node.range) || [0, 0];
  if (!isCollection(node) || node.flow || node.items.length === 0) return [from, to];
  return [from, endOf(node.items.at(-1))];
}

/** How many characters stand before an offset on its line. */
export function columnOf(text: string, offset: number): number {
  return lineBefore(text, offset).length;
}

/** How much further in a map stands than the one around it: as the first one does that stands in another. */
export function unitOf(text: string): number {
  return (
    /^[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n(?:[ \t]*(?:#[^\n]*)?\n)*( +)[^\s#-]/m.exec(text)?.[1]?.length ?? 2
  );
}

function descend(place: YamlPlace): YamlPlace {
  const { node } = place;
  const [first, ...rest] = place.rest;
  if (isMap(node)) {
    const pair = node.items.findLast(({ key }) => isScalar(key) && key.value === first);
    return pair ? descend({ node: toNode(pair.value), pair, owner: node, rest }) : place;
  }
  const item = isSeq(node) && typeof first === "number" ? toNode(node.items[first]) : undefined;
  return item ? descend({ node: item, rest }) : place;
}

function isCollection(node: unknown) {
  return isMap(node) || isSeq(node);
}

function endOf(item: unknown): number {
  if (isNode(item)) return rangeOf(item)[1];
  return isPair(item) ? rangeOf(item.value ?? item.key)[1] : 0;
}

function toNode(value: unknown): Node | undefined {
  return isNode(value) ? value : undefined;
}
