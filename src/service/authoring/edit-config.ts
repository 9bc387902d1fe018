import { extname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ConfigError } from "../../core/errors.ts";
import { isObject, readPath, replaceAt, type Segment, toKeyPath, toObject } from "../../core/shared/json.ts";
import { isYaml, parseSource } from "../../core/config/parse/source.ts";
import { type Document, yaml } from "../../core/config/parse/yaml.ts";
import { type Change, editJson5, withRoot } from "./json5.ts";

export type { Change };

const BOM = "\uFEFF";

/**
 * Makes changes in a configuration's text, in order, and keeps its comments, its order and its format. YAML or JSON5 by the
 * extension of `file`, which is only a name here. Throws a `ConfigError` on bad syntax, and if a change would also change
 * something else (behind an alias, say).
 */
export function editConfig(file: string, text: string, changes: readonly Change[]): string {
  const bom = text.startsWith(BOM) ? BOM : "";
  const start = text.slice(bom.length);
  return bom + changes.reduce((edited, change) => makeChange(file, edited, change), start);
}

/** The fewest changes that turn one value into another: objects key by key, lists as a whole. */
export function diffValues(before: unknown, after: unknown, at: readonly Segment[] = []): Change[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (after === undefined) return [{ kind: "remove", path: at }];
  if (!isObject(before) || !isObject(after)) return [{ kind: "set", path: at, value: after }];
  const keys = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...keys].flatMap((key) => diffValues(before[key], after[key], [...at, key]));
}

function makeChange(file: string, original: string, change: Change): string {
  const text = isYaml(file) ? original : withRoot(original);
  const value = parseSource(file, text).value ?? {};
  const existing = readPath(value, change.path.map(String));
  if (change.kind === "remove" && existing === undefined) return original;
  const isNewList = change.kind === "add" && (existing === undefined || existing === null);
  const edit: Change = isNewList ? { kind: "set", path: change.path, value: [change.value] } : change;
  try {
    const edited = isYaml(file) ? editYaml(text, edit) : editJson5(text, edit, isJson(file));
    if (isDeepStrictEqual(parseSource(file, edited).value, applyChange(value, edit))) return edited;
  } catch {
    // The text has no place for this change.
  }
  const message = "This key cannot be changed without changing something else. Edit it by hand.";
  throw new ConfigError([{ file, key: toKeyPath(change.path), message }]);
}

/** A copy of the value with the change made. */
export function applyChange(value: unknown, change: Change): unknown {
  const keys = change.path.map(String);
  if (change.kind === "set") return replaceAt(value, keys, change.value);
  if (change.kind === "add") {
    const list = [readPath(value, keys)].flat();
    return replaceAt(value, keys, change.first ? [change.value, ...list] : [...list, change.value]);
  }
  const parentKeys = keys.slice(0, -1);
  return replaceAt(value, parentKeys, without(readPath(value, parentKeys), keys.at(-1)));
}

function without(parent: unknown, key: string | undefined): unknown {
  if (Array.isArray(parent)) return parent.toSpliced(Number(key), 1);
  return Object.fromEntries(Object.entries(toObject(parent)).filter(([name]) => name !== key));
}

/** Whether editors expect quoted keys and no comma at the end. */
function isJson(file: string): boolean {
  return [".json", ".jsonc"].includes(extname(file).toLowerCase());
}

/** Makes one change in a YAML text. Comments, order and styles stay; spaces without a meaning may change. */
function editYaml(text: string, change: Change): string {
  const document: Document = yaml().parseDocument(text, { merge: true });
  if (change.kind === "set") setValue(document, change.path, change.value);
  else if (change.kind === "remove") document.deleteIn(change.path);
  else addItem(document, change);
  const edited = document.toString({ ...detectStyle(text), lineWidth: 0 });
  return text.includes("\r\n") ? edited.replaceAll("\n", "\r\n") : edited;
}

function setValue(document: Document, path: readonly Segment[], value: unknown): void {
  // Everything below the first empty place is created at once.
  const empty = path.findIndex((_, index) => !hasItems(document.getIn(path.slice(0, index), true)));
  const place = empty === -1 ? path : path.slice(0, empty);
  const node = document.createNode(replaceAt(undefined, path.slice(place.length).map(String), value));
  const existing = document.getIn(place, true);
  const { isCollection, isNode, isScalar } = yaml();
  if (isNode(existing)) {
    const { comment, commentBefore } = existing;
    if (isCollection(node) && !isCollection(existing)) node.commentBefore = commentBefore ?? comment;
    else Object.assign(node, { comment, commentBefore });
    if (isScalar(existing) && isScalar(node) && existing.type?.startsWith("QUOTE")) node.type = existing.type;
  }
  if (place.length === 0) document.contents = node;
  else document.setIn(place, node);
}

function addItem(document: Document, { path, value, first }: Extract<Change, { kind: "add" }>): void {
  const existing = document.getIn(path, true);
  const list = yaml().isSeq(existing) ? existing : document.createNode<unknown[]>([]);
  if (list !== existing) list.items.push(existing);
  list.items.splice(first ? 0 : list.items.length, 0, document.createNode(value));
  // One line for a list of objects would grow with each.
  if (isObject(value)) list.flow = false;
  document.setIn(path, list);
}

function hasItems(node: unknown): boolean {
  return yaml().isCollection(node) && node.items.length > 0;
}

/** The indentation of the first nested map, whether lists are indented below their key, and spaces inside brackets. */
function detectStyle(text: string): { indent: number; indentSeq: boolean; flowCollectionPadding: boolean } {
  const indent = /^[^\s#-].*:[ \t]*(?:#.*)?\r?\n(?:[ \t]*(?:#.*)?\r?\n)*( +)[^\s#-]/m.exec(text)?.[1]?.length ?? 2;
  return {
    indent,
    indentSeq: !/^( *)[^\s#-].*:[ \t]*(?:#.*)?\r?\n\1- /m.test(text),
    flowCollectionPadding: !/(?<!\$)[[{][^\s[\]{}]/.test(text),
  };
}

/** Words of at most 100 characters together, or one longer word. */
const LINE = /\S{100,}|\S.{0,99}(?!\S)/g;

/** A configuration's text with comments above the lines of keys. A missing key is commented at the nearest one around it. JSON gets none. */
export function addComments(file: string, text: string, comments: readonly [key: string, sentence: string][]): string {
  // Only Hookline would read them there.
  if (extname(file).toLowerCase() === ".json") return text;
  const mark = isYaml(file) ? "#" : "//";
  const { locate } = parseSource(file, text);
  const byLine = Map.groupBy(comments, ([key]) => locate(key)?.line ?? 1);
  const lines = text.split("\n").flatMap((line, index) => {
    const indent = /^\s*/.exec(line)?.[0] ?? "";
    const sentences = (byLine.get(index + 1) ?? []).flatMap(([, sentence]) => sentence.match(LINE) ?? []);
    return [...sentences.map((part) => `${indent}${mark} ${part}`), line];
  });
  return lines.join("\n");
}
