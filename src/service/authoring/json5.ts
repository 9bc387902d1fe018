import type {
  ArrayNode,
  DocumentNode,
  ElementNode,
  MemberNode,
  ObjectNode,
  Token,
  ValueNode,
} from "@humanwhocodes/momoa";
import { isObject, replaceAt, type Segment } from "../../core/shared/json.ts";
import { parse, tokenize } from "../../core/config/parse/json5.ts";

/** One change at a key path such as `["hooks", "presets", 0]`. */
export type Change =
  /** Sets a value. Missing objects on the way are created; an index must exist. */
  | { kind: "set"; path: readonly Segment[]; value: unknown }
  /** Adds an item at the end of a list, or as its first. A missing list is created; another value becomes one. */
  | { kind: "add"; path: readonly Segment[]; value: unknown; first?: true }
  /** Removes a key or an item. A missing one is not an error. */
  | { kind: "remove"; path: readonly Segment[] };

/** Makes one change in a JSON5 text, in its own style. All else stays as it is. `json`: the result must be JSON. */
export function editJson5(text: string, change: Change, json: boolean): string {
  const document = readDocument(text, json);
  const position = findPosition(document.root, change.path);
  return splice(text, toSplices(document, position, change));
}

/** A text that is empty or holds only comments, with an empty object added. */
export function withRoot(text: string): string {
  if (!isEmpty(text)) return text;
  const lineBreak = /\r?\n/.exec(text)?.[0] ?? "\n";
  return text + (text === "" || text.endsWith("\n") ? "" : lineBreak) + "{}" + lineBreak;
}

function isEmpty(text: string): boolean {
  try {
    return tokenize(text, { mode: "json5" }).every(isComment);
  } catch {
    // Bad syntax is reported when the text is parsed.
    return false;
  }
}

type Container = ObjectNode | ArrayNode;
type Item = MemberNode | ElementNode;

/** How a file is written, as far as it can be told. */
interface Style {
  /** One step of indentation. */
  unit: string;
  quote: '"' | "'";
  quoteKeys: boolean;
  /** Whether the last line of an object or a list ends with a comma. */
  trailingComma: boolean;
}

interface Json5Document {
  text: string;
  root: ValueNode;
  tokens: Token[];
  style: Style;
}

/** The deepest existing node on a path. */
interface Position {
  node: ValueNode;
  /** The item that holds the node, among its neighbors. */
  owner: { items: Item[]; index: number } | undefined;
  /** The rest of the path, which does not exist. */
  rest: readonly Segment[];
}

interface Range {
  from: number;
  to: number;
}

interface Splice extends Range {
  text: string;
}

/** Renders an item for a line with this indentation; undefined: all on one line. */
type Render = (indent: string | undefined) => string;

function readDocument(text: string, json: boolean): Json5Document {
  const { body, tokens = [] }: DocumentNode = parse(text, { mode: "json5", tokens: true });
  const firstString = tokens.find(({ type }) => type === "String");
  const firstName = body.type === "Object" ? body.members[0]?.name.type : undefined;
  const style: Style = {
    unit: /^([ \t]+)["'\w$]/m.exec(text)?.[1] ?? "  ",
    quote: !json && firstString && text.charAt(firstString.loc.start.offset) === "'" ? "'" : '"',
    quoteKeys: json || firstName === "String",
    trailingComma: !json && /,\s*[}\]]/.test(text),
  };
  return { text, root: body, tokens, style };
}

function findPosition(node: ValueNode, path: readonly Segment[], owner?: Position["owner"]): Position {
  const [first, ...rest] = path;
  const items = node.type === "Object" || node.type === "Array" ? itemsOf(node) : [];
  const index = items.findLastIndex((item, place) => nameOf(item, place) === first);
  const item = items[index];
  return item === undefined ? { node, owner, rest: path } : findPosition(item.value, rest, { items, index });
}

function toSplices(document: Json5Document, { node, owner, rest }: Position, change: Change): Splice[] {
  const { text, style } = document;
  if (change.kind === "remove") return owner && rest.length === 0 ? removeItem(document, owner) : [];
  const { from, to } = rangeOf(node);
  if (change.kind === "add") {
    const renderItem = (indent: string | undefined): string => render(change.value, style, indent);
    if (node.type === "Array") return insertItem(document, node, change.first ? 0 : node.elements.length, renderItem);
    const item = renderBeside(renderItem, indentOf(text, from));
    return change.first
      ? [insertion(from, `[${item}, `), insertion(to, "]")]
      : [insertion(from, "["), insertion(to, `, ${item}]`)];
  }
  const [key, ...further] = rest.map(String);
  if (key !== undefined && node.type === "Object") {
    const value = replaceAt(undefined, further, change.value);
    return insertItem(document, node, node.members.length, (indent) => renderMember(key, value, style, indent));
  }
  const isOneLine = node.type === "Object" && node.members.length > 0 && !text.slice(from, to).includes("\n");
  const value = replaceAt(undefined, rest.map(String), change.value);
  return [{ from, to, text: render(value, style, isOneLine ? undefined : indentOf(text, from)) }];
}

/** Inserts an item where the others are: on its own line, or beside them. */
function insertItem(document: Json5Document, node: Container, index: number, renderItem: Render): Splice[] {
  const { text } = document;
  const items = itemsOf(node);
  const neighbor = items[index] ?? items.at(-1);
  if (neighbor === undefined) return [insertFirst(document, node, renderItem)];
  const { from, to } = rangeOf(neighbor);
  const hasOwnLine = lineBefore(text, from).trim() === "";
  const indent = indentOf(text, from);
  const item = hasOwnLine ? renderItem(indent) : renderBeside(renderItem, indent);
  if (index < items.length) return [insertion(from, hasOwnLine ? `${item},\n${indent}` : `${item}, `)];

  const comma = commaAfter(document, neighbor)?.to;
  const isLong = lineBefore(text, to).trimStart().length + item.length > MAX_LINE;
  if (!hasOwnLine && isLong && isPlainList(document, node)) return splitLines(document, node, renderItem);
  if (!hasOwnLine) return [comma === undefined ? insertion(to, `, ${item}`) : insertion(comma, ` ${item},`)];
  // A comment on the last line belongs to the last item.
  const end = afterComments(document, comma ?? to);
  const line = `\n${indent}${item}`;
  if (comma !== undefined) return [insertion(end, `${line},`)];
  return end === to ? [insertion(to, `,${line}`)] : [insertion(to, ","), insertion(end, line)];
}

/** On one line, without comments. */
function isPlainList({ text, tokens }: Json5Document, node: Container): boolean {
  const { from, to } = rangeOf(node);
  const isInside = ({ loc }: Token): boolean => loc.start.offset > from && loc.start.offset < to;
  return (
    node.type === "Array" &&
    !text.slice(from, to).includes("\n") &&
    !tokens.some((one) => isComment(one) && isInside(one))
  );
}

/** A list on one line that becomes too long: each item gets its own line. */
function splitLines({ text, style }: Json5Document, node: Container, renderItem: Render): Splice[] {
  const { from, to } = rangeOf(node);
  const outer = indentOf(text, from);
  const indent = outer + style.unit;
  const items = itemsOf(node).map((item) => {
    const range = rangeOf(item);
    return text.slice(range.from, range.to);
  });
  const lines = [...items, renderItem(indent)].join(`,\n${indent}`) + (style.trailingComma ? "," : "");
  return [{ from, to, text: `[\n${indent}${lines}\n${outer}]` }];
}

function renderBeside(renderItem: Render, indent: string): string {
  const line = renderItem(undefined);
  return line.length <= MAX_BESIDE ? line : renderItem(indent);
}

/** The end of the comments on the rest of the line. */
function afterComments(document: Json5Document, offset: number): number {
  const next = document.tokens.find(({ loc }) => loc.start.offset >= offset);
  if (!next || !isComment(next)) return offset;
  const { from, to } = rangeOf(next);
  return document.text.slice(offset, from).includes("\n") ? offset : afterComments(document, to);
}

function insertFirst({ text, style }: Json5Document, node: Container, renderItem: Render): Splice {
  const range = rangeOf(node);
  const from = range.from + 1;
  const to = range.to - 1;
  const before = lineBefore(text, to);
  const toLine = (outer: string): string => {
    const indent = outer + style.unit;
    return `${indent}${renderItem(indent)}${style.trailingComma ? "," : ""}\n`;
  };
  if (text.slice(from, to).trim() !== "") {
    // There are comments: the item follows them.
    return before.trim() === ""
      ? insertion(to - before.length, toLine(before))
      : insertion(to, `${renderItem(undefined)} `);
  }
  if (node.type === "Array") return { from, to, text: renderItem(undefined) };
  const outer = indentOf(text, from);
  return { from, to, text: `\n${toLine(outer)}${outer}` };
}

/** Removes an item with the comma behind it, or, if it is the last one, with the comma before it. */
function removeItem(document: Json5Document, { items, index }: NonNullable<Position["owner"]>): Splice[] {
  const { text } = document;
  const item = items[index];
  const previous = items[index - 1];
  if (item === undefined) return [];
  const { from, to } = rangeOf(item);
  const after = commaAfter(document, item);
  if (after) {
    if (text.slice(to, after.from).trim() !== "") return [removal(text, from, to), { ...after, text: "" }];
    const cut = removal(text, from, after.to);
    // Beside other items the space before the next one goes too.
    const gap = cut.from === from ? (/^[ \t]*/.exec(text.slice(cut.to))?.[0].length ?? 0) : 0;
    return [{ ...cut, to: cut.to + gap }];
  }
  const before = previous && commaAfter(document, previous);
  if (!before) return [removal(text, from, to)];
  const isBeside = /^[ \t]*$/.test(text.slice(before.to, from));
  return isBeside ? [{ from: before.from, to, text: "" }] : [{ ...before, text: "" }, removal(text, from, to)];
}

function itemsOf(node: Container): Item[] {
  return node.type === "Object" ? node.members : node.elements;
}

function nameOf(item: Item, index: number): Segment {
  if (item.type === "Element") return index;
  return item.name.type === "Identifier" ? item.name.name : item.name.value;
}

function rangeOf({ loc }: ValueNode | Item | Token): Range {
  return { from: loc.start.offset, to: loc.end.offset };
}

/** The comma behind an item, comments in between or not. */
function commaAfter({ tokens }: Json5Document, item: Item): Range | undefined {
  const { to } = rangeOf(item);
  const next = tokens.find((token) => token.loc.start.offset >= to && !isComment(token));
  return next?.type === "Comma" ? rangeOf(next) : undefined;
}

function isComment({ type }: Token): boolean {
  return type.endsWith("Comment");
}

/** A longer list is written over several lines. */
const MAX_LIST_LENGTH = 80;
/** A list that would make a longer line gets a line for each item. */
const MAX_LINE = 80;
/** A longer item is written over several lines, even beside others. */
const MAX_BESIDE = 200;

function render(value: unknown, style: Style, indent: string | undefined): string {
  if (typeof value === "string") return quote(value, style);
  const isList = Array.isArray(value);
  if (!isList && !isObject(value)) return JSON.stringify(value);
  const renderAll = (inner: string | undefined): string[] =>
    isList
      ? value.map((item) => render(item, style, inner))
      : Object.entries(value).map(([key, child]) => renderMember(key, child, style, inner));
  const oneLine = renderAll(undefined).join(", ");
  if (oneLine === "") return isList ? "[]" : "{}";
  if (isList && (indent === undefined || oneLine.length <= MAX_LIST_LENGTH)) return `[${oneLine}]`;
  if (indent === undefined) return `{ ${oneLine} }`;
  const inner = indent + style.unit;
  const lines = renderAll(inner).join(`,\n${inner}`) + (style.trailingComma ? "," : "");
  return isList ? `[\n${inner}${lines}\n${indent}]` : `{\n${inner}${lines}\n${indent}}`;
}

function renderMember(key: string, value: unknown, style: Style, indent: string | undefined): string {
  const name = style.quoteKeys || !/^[A-Za-z_$][\w$]*$/.test(key) ? quote(key, style) : key;
  return `${name}: ${render(value, style, indent)}`;
}

function quote(text: string, style: Style): string {
  const json = JSON.stringify(text);
  return style.quote === '"' ? json : `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** Makes splices that do not overlap. Their line breaks become those of the text. */
function splice(text: string, splices: readonly Splice[]): string {
  const lineBreak = /\r?\n/.exec(text)?.[0] ?? "\n";
  return splices
    .toSorted((one, other) => other.from - one.from)
    .reduce((edited, { from, to, text: piece }) => {
      return edited.slice(0, from) + piece.replaceAll("\n", lineBreak) + edited.slice(to);
    }, text);
}

function insertion(at: number, text: string): Splice {
  return { from: at, to: at, text };
}

/** Removes a piece, and the line that it leaves empty. */
function removal(text: string, from: number, to: number): Splice {
  const before = lineBefore(text, from);
  const after = /[^\r\n]*/.exec(text.slice(to))?.[0] ?? "";
  if (before.trim() !== "") return { from, to, text: "" };
  if (after.trim() !== "") return { from, to: to + after.length - after.trimStart().length, text: "" };
  const lineBreak = /^\r?\n/.exec(text.slice(to + after.length))?.[0] ?? "";
  return { from: from - before.length, to: to + after.length + lineBreak.length, text: "" };
}

/** The text before an offset on its line. */
function lineBefore(text: string, offset: number): string {
  return text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
}

function indentOf(text: string, offset: number): string {
  return /^[ \t]*/.exec(lineBefore(text, offset))?.[0] ?? "";
}
