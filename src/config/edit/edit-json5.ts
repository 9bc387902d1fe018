import type { ValueNode } from "@humanwhocodes/momoa";
import { type Change, nest } from "./change.ts";
import { insertJson5 } from "./insert-json5.ts";
import { findPlace, type Json5Place, type Json5Text, rangeOf, readJson5 } from "./json5-place.ts";
import { removeJson5 } from "./remove-json5.ts";
import { indentOf, type Splice, splice } from "./splice.ts";
import { memberToJson5, toJson5 } from "./to-json5.ts";

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
