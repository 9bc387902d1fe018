import { replaceAt, type Segment } from "../../shared/json.ts";
import { type Document, isCollection, isNode, isScalar, isSeq, parseDocument } from "../parse/yaml.ts";
import type { Edit } from "./edit-config.ts";

/** Makes one change in a YAML text. Comments, order and styles stay; spaces without a meaning may change. */
export function editYaml(text: string, edit: Edit): string {
  const document: Document = parseDocument(text, { merge: true });
  if (edit.kind === "set") setValue(document, edit.path, edit.value);
  else if (edit.kind === "remove") document.deleteIn(edit.path);
  else insertItem(document, edit);
  const edited = document.toString({ ...detectStyle(text), lineWidth: 0 });
  return text.includes("\r\n") ? edited.replaceAll("\n", "\r\n") : edited;
}

function setValue(document: Document, path: readonly Segment[], value: unknown): void {
  // Everything below the first empty place is created at once.
  const empty = path.findIndex((_, index) => !hasItems(document.getIn(path.slice(0, index), true)));
  const place = empty === -1 ? path : path.slice(0, empty);
  const node = document.createNode(replaceAt(undefined, path.slice(place.length).map(String), value));
  const existing = document.getIn(place, true);
  if (isNode(existing)) {
    const { comment, commentBefore } = existing;
    if (isCollection(node) && !isCollection(existing)) node.commentBefore = commentBefore ?? comment;
    else Object.assign(node, { comment, commentBefore });
    if (isScalar(existing) && isScalar(node) && existing.type?.startsWith("QUOTE")) node.type = existing.type;
  }
  if (place.length === 0) document.contents = node;
  else document.setIn(place, node);
}

function insertItem(document: Document, { path, index, value }: Extract<Edit, { kind: "insert" }>): void {
  const list = document.getIn(path, true);
  if (isSeq(list)) list.items.splice(index, 0, document.createNode(value));
}

function hasItems(node: unknown): boolean {
  return isCollection(node) && node.items.length > 0;
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
