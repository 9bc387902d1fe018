import type { Node, Pair, YAMLMap, YAMLSeq } from "yaml";
import type { Segment } from "../../shared/json.ts";
import { isMap, isNode, isPair, isScalar, isSeq, parseDocument, stringify } from "../parse/yaml.ts";
import { type Change, insertion, lineAfter, lineBefore, nest, removal, type Splice, splice } from "./splice.ts";

/**
 * Changes a YAML text at one place, comments and all else staying as they are. Gives undefined, or a text that means something
 * else, where that place has no form of its own: an alias, a merged map, an explicit key.
 */
export function editYaml(text: string, { path, value }: Change): string | undefined {
  const { contents } = parseDocument(text, { merge: true });
  const place = findPlace(isNode(contents) ? contents : undefined, path);
  if (value === undefined && place.rest.length > 0) return text;
  const splices = value === undefined ? removeYaml(text, place) : put(text, place, value);
  return splices && splice(text, splices);
}

function put(text: string, place: YamlPlace, value: unknown): Splice[] | undefined {
  const { node, rest } = place;
  const [next, ...further] = rest;
  if (typeof next === "string" && isMap(node) && node.items.length > 0) {
    return insertPair(text, node, { [next]: nest(further, value) });
  }
  if (typeof next === "string" && isFree(text, place)) return begin(text, place, nest(rest, value));
  if (isSeq(node) && next === node.items.length) return append(text, node, nest(further, value));
  return node && replace(text, node, nest(rest, value));
}

/** Whether lines can begin there: behind a key is nothing at all, `null`, `~` or `{}`. */
function isFree(text: string, { node, pair, owner }: YamlPlace): boolean {
  if (owner?.flow || !isNothing(text, node)) return false;
  return !pair || lineBefore(text, rangeOf(node)[0]).trim() !== "";
}

function isNothing(text: string, node: Node | undefined): boolean {
  if (isMap(node)) return node.items.length === 0 && /^\{\s*\}$/.test(text.slice(...rangeOf(node)));
  return node === undefined || (isScalar(node) && node.value === null);
}

function insertPair(text: string, map: YAMLMap, pair: object): Splice[] | undefined {
  const [start, end] = rangeOf(map);
  if (map.flow) return [insertion(rangeOf(map.items.at(-1)?.value)[1], `, ${toFlow(pair).slice(1, -1).trim()}`)];
  return insertLines(text, end, toBlock(pair, columnOf(text, start), unitOf(text)));
}

function append(text: string, list: YAMLSeq, item: unknown): Splice[] | undefined {
  const [start, end] = rangeOf(list);
  if (list.items.length === 0) return [insertion(start + 1, toFlow(item))];
  if (list.flow) return [insertion(rangeOf(list.items.at(-1))[1], `, ${toFlow(item)}`)];
  return insertLines(text, end, toBlock([item], columnOf(text, start), unitOf(text)));
}

/** The first pairs of a map: below its key, or, of a whole document, at its end. */
function begin(text: string, { node, pair }: YamlPlace, value: unknown): Splice[] | undefined {
  const unit = unitOf(text);
  const [from, to] = node ? rangeOf(node) : [text.length, text.length];
  const column = pair ? columnOf(text, rangeOf(pair.key)[0]) + unit : 0;
  const block = toBlock(value, column, unit);
  if (!pair && from < to && lineAfter(text, to) === "") return [{ from, to, text: block.trimEnd() }];

  const lines = insertLines(text, to, block);
  const spaces = /[ \t]*$/.exec(text.slice(0, from))?.[0].length ?? 0;
  return from === to ? lines : lines && [{ from: from - spaces, to, text: "" }, ...lines];
}

/** Puts lines behind the one that an offset is on. undefined: something follows on that line. */
function insertLines(text: string, offset: number, lines: string): Splice[] | undefined {
  // A text block ends behind its last line break.
  if (lineBefore(text, offset) === "") return [insertion(offset, lines)];
  const after = lineAfter(text, offset);
  if (!/^[ \t]*(?:#.*)?$/.test(after)) return undefined;
  return [insertion(offset + after.length, `\n${lines.trimEnd()}`)];
}

function replace(text: string, node: Node, value: unknown): Splice[] {
  const [from, to] = rangeOf(node);
  const isText = isScalar(node) || typeof value !== "object" || ((isMap(node) || isSeq(node)) && node.flow);
  const lines = toBlock(value, columnOf(text, from), unitOf(text)).trim();
  const piece = isText ? toScalar(value, isScalar(node) ? node.type : undefined) : lines;
  return [{ from, to, text: piece + (text.slice(from, to).endsWith("\n") ? "\n" : "") }];
}

/** Takes a pair out of its map. undefined: it is no pair, or not written as one usually is. */
function removeYaml(text: string, { pair, owner }: YamlPlace): Splice[] | undefined {
  if (!pair || !owner) return undefined;
  const from = rangeOf(pair.key)[0];
  const to = Math.max(rangeOf(pair.key)[1] + 1, rangeOf(pair.value)[1]);
  if (owner.flow) return [removeFromFlow(text, from, to)];
  if (lineBefore(text, from).trim() !== "") return undefined;
  return [removeLines(text, from, to)];
}

/** A text block ends behind its last line break, which goes with it. */
function removeLines(text: string, from: number, to: number): Splice {
  if (lineBefore(text, to) !== "") return removal(text, from, to);
  return { from: from - lineBefore(text, from).length, to, text: "" };
}

/** With the comma behind it, else with the one before it. */
function removeFromFlow(text: string, from: number, to: number): Splice {
  const comma = /^\s*,[ \t]*/.exec(text.slice(to))?.[0].length;
  if (comma !== undefined) return { from, to: to + comma, text: "" };
  const before = /,\s*$/.exec(text.slice(0, from))?.[0].length ?? 0;
  return { from: from - before, to, text: "" };
}

/** A value in block style, every line at the column and with its line break. */
function toBlock(value: unknown, column: number, unit: number): string {
  const margin = " ".repeat(column);
  return stringify(value, { indent: unit, lineWidth: 0, blockQuote: false }).replace(/^(?=.)/gm, margin);
}

/** A value on one line, in flow style: it may stand anywhere. */
function toFlow(value: unknown): string {
  return stringify(value, {
    collectionStyle: "flow",
    lineWidth: 0,
    defaultStringType: "QUOTE_DOUBLE",
    defaultKeyType: "PLAIN",
  }).trim();
}

/** A value on one line, its quotes those of the scalar whose place it takes. */
function toScalar(value: unknown, type: string | undefined): string {
  if (typeof value !== "string" || /[\n\r]/.test(value)) return toFlow(value);
  if (type === "QUOTE_SINGLE") return `'${value.replaceAll("'", "''")}'`;
  return type === "PLAIN" ? stringify(value, { lineWidth: 0 }).trim() : toFlow(value);
}

/** How far a path leads into a document. */
interface YamlPlace {
  /** What stands there; undefined: nothing at all. */
  node: Node | undefined;
  /** The pair whose value it is, and its map. */
  pair?: Pair;
  owner?: YAMLMap;
  /** What of the path is not there. */
  rest: readonly Segment[];
}

/** Follows a path as far as it is there. Aliases are not followed: what they bring in stands elsewhere. */
function findPlace(node: Node | undefined, path: readonly Segment[]): YamlPlace {
  return descend({ node, rest: path });
}

/** Where a node's own text begins and ends, without what follows it. */
function rangeOf(node: unknown): [number, number] {
  const [from, to] = (isNode(node) && node.range) || [0, 0];
  if (!isCollection(node) || node.flow || node.items.length === 0) return [from, to];
  return [from, endOf(node.items.at(-1))];
}

/** How many characters stand before an offset on its line. */
function columnOf(text: string, offset: number): number {
  return lineBefore(text, offset).length;
}

/** How much further in a map stands than the one around it: as the first one does that stands in another. */
function unitOf(text: string): number {
  return /^[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n(?:[ \t]*(?:#[^\n]*)?\n)*( +)[^\s#-]/m.exec(text)?.[1]?.length ?? 2;
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
