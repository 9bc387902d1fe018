import type {
  AnyNode,
  ArrayNode,
  DocumentNode,
  ElementNode,
  MemberNode,
  ObjectNode,
  Token,
  ValueNode,
} from "@humanwhocodes/momoa";
import { isObject, type Segment } from "../../shared/json.ts";
import { parse, tokenize } from "../parse/json5.ts";
import { type Change, indentOf, insertion, lineBefore, nest, removal, type Splice, splice } from "./splice.ts";

/**
 * Changes a JSON5 text at one place, in its own style. `json`: it must stay JSON. Comments and all else stay as they are.
 */
export function editJson5(text: string, { path, value }: Change, json: boolean): string {
  const edit = readJson5(text, json);
  const place = findPlace(edit.root, path);
  if (value !== undefined) return splice(text, put(edit, place, value));
  return place.rest.length > 0 || !place.owner ? text : splice(text, removeJson5(edit, place.owner));
}

function put(edit: Json5Text, { node, rest }: Json5Place, value: unknown): Splice[] {
  const { style } = edit;
  const [next, ...further] = rest;
  const nested = nest(further, value);
  if (node.type === "Object" && typeof next === "string") {
    return insertJson5(edit, node, (indent) => memberToJson5(next, nested, style, indent));
  }
  if (node.type === "Array" && next === node.elements.length) {
    return insertJson5(edit, node, (indent) => toJson5(nested, style, indent));
  }
  return [replace(edit, node, nest(rest, value))];
}

function replace({ text, style }: Json5Text, node: ValueNode, value: unknown): Splice {
  const { from, to } = rangeOf(node);
  const isOneLine = node.type === "Object" && node.members.length > 0 && !text.slice(from, to).includes("\n");
  return { from, to, text: toJson5(value, style, isOneLine ? undefined : indentOf(text, from)) };
}

/** The text of the item, for a line of that indentation. */
type Render = (indent: Indent) => string;

/** Puts an item behind the last one, as that one stands: on a line of its own, or beside the others. */
function insertJson5(edit: Json5Text, node: Container, render: Render): Splice[] {
  const last = itemsOf(node).at(-1);
  if (last === undefined) return [fill(edit, node, render)];
  const { from, to } = rangeOf(last);
  const isOnOwnLine = lineBefore(edit.text, from).trim() === "";
  const comma = commaAfter(edit, last)?.to;
  if (!isOnOwnLine) return [insertBeside(to, comma, render(undefined))];
  const indent = indentOf(edit.text, from);
  return insertLine(edit, { end: to, comma }, `\n${indent}${render(indent)}`);
}

function insertBeside(end: number, comma: number | undefined, item: string): Splice {
  return comma === undefined ? insertion(end, `, ${item}`) : insertion(comma, ` ${item},`);
}

function insertLine(
  edit: Json5Text,
  { end, comma }: { end: number; comma: number | undefined },
  line: string,
): Splice[] {
  const at = afterComments(edit, comma ?? end);
  if (comma !== undefined) return [insertion(at, `${line},`)];
  return at === end ? [insertion(end, `,${line}`)] : [insertion(end, ","), insertion(at, line)];
}

/** Behind the comments on the rest of the line, which are about what stands before them. */
function afterComments(edit: Json5Text, offset: number): number {
  const next = edit.tokens.find(({ loc }) => loc.start.offset >= offset);
  if (!next?.type.endsWith("Comment")) return offset;
  const { from, to } = rangeOf(next);
  return edit.text.slice(offset, from).includes("\n") ? offset : afterComments(edit, to);
}

/** Puts the first item in. */
function fill(edit: Json5Text, node: Container, render: Render): Splice {
  const from = rangeOf(node).from + 1;
  const to = rangeOf(node).to - 1;
  if (edit.text.slice(from, to).trim() !== "") return fillAfterComments(edit, to, render);
  if (node.type === "Array") return { from, to, text: render(undefined) };
  const outer = indentOf(edit.text, from);
  return { from, to, text: `\n${toLine(edit, outer, render)}${outer}` };
}

function fillAfterComments(edit: Json5Text, end: number, render: Render): Splice {
  const before = lineBefore(edit.text, end);
  if (before.trim() !== "") return insertion(end, `${render(undefined)} `);
  return insertion(end - before.length, toLine(edit, before, render));
}

function toLine({ style }: Json5Text, outer: string, render: Render): string {
  const indent = outer + style.unit;
  return `${indent}${render(indent)}${style.trailingComma ? "," : ""}\n`;
}

/** Takes an item out with its comma, or as the last one with the comma before it. */
function removeJson5(edit: Json5Text, { items, index }: NonNullable<Json5Place["owner"]>): Splice[] {
  const item = items[index];
  const previous = items[index - 1];
  if (item === undefined) return [];
  const { from, to } = rangeOf(item);
  const after = commaAfter(edit, item);
  if (after) return removeWithNext(edit.text, { from, to }, after);
  const before = previous && commaAfter(edit, previous);
  return before ? removeWithPrevious(edit.text, { from, to }, before) : [removal(edit.text, from, to)];
}

interface Range {
  from: number;
  to: number;
}

function removeWithNext(text: string, { from, to }: Range, comma: Range): Splice[] {
  if (text.slice(to, comma.from).trim() !== "") return [removal(text, from, to), { ...comma, text: "" }];
  const cut = removal(text, from, comma.to);
  // Beside others: the space in front of the next one goes too.
  const gap = cut.from === from ? /^[ \t]*/.exec(text.slice(cut.to))?.[0].length : 0;
  return [{ ...cut, to: cut.to + (gap ?? 0) }];
}

function removeWithPrevious(text: string, { from, to }: Range, comma: Range): Splice[] {
  const isBeside = /^[ \t]*$/.test(text.slice(comma.to, from));
  return isBeside ? [{ from: comma.from, to, text: "" }] : [{ ...comma, text: "" }, removal(text, from, to)];
}

/** A JSON5 text that holds nothing, or comments only, with an empty object behind them. */
export function withRoot(text: string): string {
  if (!isEmpty(text)) return text;
  const lineBreak = /\r?\n/.exec(text)?.[0] ?? "\n";
  return text + (text === "" || text.endsWith("\n") ? "" : lineBreak) + "{}" + lineBreak;
}

function isEmpty(text: string): boolean {
  try {
    return tokenize(text, { mode: "json5" }).every(({ type }) => type.endsWith("Comment"));
  } catch {
    // Bad syntax is reported where the text is parsed.
    return false;
  }
}

type Container = ObjectNode | ArrayNode;
type Item = MemberNode | ElementNode;

/** A text to be edited. */
interface Json5Text {
  text: string;
  root: ValueNode;
  tokens: Token[];
  style: Json5Style;
}

/** How far a path leads into a text. */
interface Json5Place {
  node: ValueNode;
  /** The item whose value it is, among its neighbours. */
  owner: { items: Item[]; index: number } | undefined;
  /** What of the path is not there. */
  rest: readonly Segment[];
}

/** Reads a text that holds no bad syntax. */
function readJson5(text: string, json: boolean): Json5Text {
  const tree: DocumentNode = parse(text, { mode: "json5", tokens: true });
  return { text, root: tree.body, tokens: tree.tokens ?? [], style: detectJson5Style(text, tree, json) };
}

/** Follows a path as far as it is there. */
function findPlace(node: ValueNode, path: readonly Segment[], owner?: Json5Place["owner"]): Json5Place {
  const [first, ...rest] = path;
  const items = node.type === "Object" || node.type === "Array" ? itemsOf(node) : [];
  const index = items.findLastIndex((item, place) => nameOf(item, place) === first);
  const item = items[index];
  return item === undefined ? { node, owner, rest: path } : findPlace(item.value, rest, { items, index });
}

function itemsOf(node: Container): Item[] {
  return node.type === "Object" ? node.members : node.elements;
}

function rangeOf({ loc }: ValueNode | Item | Token): { from: number; to: number } {
  return { from: loc.start.offset, to: loc.end.offset };
}

/** Where the comma behind an item stands, comments in between or not. */
function commaAfter({ tokens }: Json5Text, item: Item): { from: number; to: number } | undefined {
  const { to } = rangeOf(item);
  const next = tokens.find(({ type, loc }) => loc.start.offset >= to && !type.endsWith("Comment"));
  return next?.type === "Comma" ? rangeOf(next) : undefined;
}

function nameOf(item: Item, index: number): Segment {
  if (item.type === "Element") return index;
  return item.name.type === "Identifier" ? item.name.name : item.name.value;
}

/** How a file is written, as far as it can be told. */
interface Json5Style {
  /** One step of indentation. */
  unit: string;
  quote: '"' | "'";
  quoteKeys: boolean;
  /** Whether what stands on lines of its own ends with a comma, the last one too. */
  trailingComma: boolean;
}

/** `json`: it may hold nothing but JSON, since its name says so. */
function detectJson5Style(text: string, tree: DocumentNode, json: boolean): Json5Style {
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
  const nested = indentOf(text, first.loc.start.offset);
  return nested.startsWith(outer) ? nested.slice(outer.length) : "";
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

/** A list of plain values that is longer than this stands on lines of its own. */
const MAX_CHARACTERS = 80;

/** Where a value is written: the indentation of its line, or undefined: all on one line. */
type Indent = string | undefined;

/** A value as text in a file's own style. */
function toJson5(value: unknown, style: Json5Style, indent: Indent): string {
  if (Array.isArray(value)) return listToJson5(value, style, indent);
  if (isObject(value)) {
    const members = Object.entries(value).map(([key, child]) => memberToJson5(key, child, style, inner(style, indent)));
    return enclose(members, { open: "{", close: "}", space: " " }, style, indent);
  }
  return typeof value === "string" ? quote(value, style) : JSON.stringify(value);
}

/** `key: value`. */
function memberToJson5(key: string, value: unknown, style: Json5Style, indent: Indent): string {
  const name = style.quoteKeys || !/^[A-Za-z_$][\w$]*$/.test(key) ? quote(key, style) : key;
  return `${name}: ${toJson5(value, style, indent)}`;
}

function listToJson5(items: unknown[], style: Json5Style, indent: Indent): string {
  const brackets = { open: "[", close: "]", space: "" };
  const short = enclose(
    items.map((item) => toJson5(item, style, undefined)),
    brackets,
    style,
    undefined,
  );
  if (indent === undefined || short.length <= MAX_CHARACTERS) return short;
  return enclose(
    items.map((item) => toJson5(item, style, inner(style, indent))),
    brackets,
    style,
    indent,
  );
}

function enclose(
  parts: string[],
  { open, close, space }: { open: string; close: string; space: string },
  style: Json5Style,
  indent: Indent,
): string {
  if (parts.length === 0) return open + close;
  if (indent === undefined) return `${open}${space}${parts.join(", ")}${space}${close}`;
  const lines = parts.join(`,\n${indent}${style.unit}`);
  return `${open}\n${indent}${style.unit}${lines}${style.trailingComma ? "," : ""}\n${indent}${close}`;
}

function inner({ unit }: Json5Style, indent: Indent): Indent {
  return indent === undefined ? undefined : indent + unit;
}

function quote(text: string, { quote: mark }: Json5Style): string {
  const json = JSON.stringify(text);
  return mark === '"' ? json : `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
