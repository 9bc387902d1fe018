import { isObject } from "../is-object.ts";
import type { Json5Style } from "./json5-style.ts";

/** A list of plain values that is longer than this stands on lines of its own. */
const MOST_CHARACTERS = 80;

/** Where a value is written: the indentation of its line, or undefined: all on one line. */
export type Indent = string | undefined;

/** A value as text in a file's own style. */
export function toJson5(value: unknown, style: Json5Style, indent: Indent): string {
  if (Array.isArray(value)) return listToJson5(value, style, indent);
  if (isObject(value)) {
    const members = Object.entries(value).map(([key, child]) =>
      memberToJson5(key, child, style, inner(style, indent)),
    );
    return enclose(members, { open: "{", close: "}", space: " " }, style, indent);
  }
  return typeof value === "string" ? quote(value, style) : JSON.stringify(value);
}

/** `key: value`. */
export function memberToJson5(key: string, value: unknown, style: Json5Style, indent: Indent): string {
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
  if (indent === undefined || short.length <= MOST_CHARACTERS) return short;
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
