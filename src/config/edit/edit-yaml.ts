import type { Node, YAMLMap, YAMLSeq } from "yaml";
import { isMap, isNode, isScalar, isSeq, parseDocument } from "../yaml.ts";
import { type Change, nest } from "./change.ts";
import { removeYaml } from "./remove-yaml.ts";
import { insertion, lineAfter, lineBefore, type Splice, splice } from "./splice.ts";
import { toBlock, toFlow, toScalar } from "./to-yaml.ts";
import { columnOf, findPlace, rangeOf, unitOf, type YamlPlace } from "./yaml-place.ts";

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
  if (map.flow)
    return [insertion(rangeOf(map.items.at(-1)?.value)[1], `, ${toFlow(pair).slice(1, -1).trim()}`)];
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
