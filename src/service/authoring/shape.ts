import { ExactNumber } from "../../core/shared/exact-json.ts";
import { isObject } from "../../core/shared/json.ts";

/** The common shape of JSON values. */
export interface Shape {
  /** How many values there were, and how many of them were objects. */
  values: number;
  objects: number;
  /**
   * Kinds of the values that are no objects, in the order in which they came. Numbers are `integer` as long as they are
   * whole.
   */
  kinds: Set<"null" | "boolean" | "integer" | "number" | "string">;
  fields: Map<string, Shape>;
  /** The items of all lists together; undefined: there was none. */
  items?: Shape;
}

/** Deeper values count as unknown. */
const MAX_DEPTH = 24;

/** An object with more names is a table: its names are data. */
const MAX_FIELDS = 60;

/** How many names of a table are kept: the values of further names count as those of the first. */
const MAX_KEPT = 1000;

/** If there are at least this many values, a field that all of them have counts as required. */
const MIN_VALUES = 5;

export function createShape(): Shape {
  return { values: 0, objects: 0, kinds: new Set(), fields: new Map() };
}

export function addValue(shape: Shape, given: unknown, depth = 0): void {
  const value = given instanceof ExactNumber ? Number(given) : given;
  shape.values++;
  if (depth > MAX_DEPTH) return;
  if (Array.isArray(value)) {
    shape.items ??= createShape();
    for (const item of value) addValue(shape.items, item, depth + 1);
  } else if (isObject(value)) {
    shape.objects++;
    for (const [name, field] of Object.entries(value)) addValue(fieldOf(shape, name), field, depth + 1);
  } else if (value === null) shape.kinds.add("null");
  else if (typeof value === "number") shape.kinds.add(Number.isInteger(value) ? "integer" : "number");
  else if (typeof value === "string") shape.kinds.add("string");
  else if (typeof value === "boolean") shape.kinds.add("boolean");
}

function fieldOf({ fields }: Shape, name: string): Shape {
  const known = fields.get(name);
  if (known) return known;
  const [first] = fields.values();
  if (first && fields.size >= MAX_KEPT) return first;
  const field = createShape();
  fields.set(name, field);
  return field;
}

/** The TypeScript type: an interface if the values are objects. A field is optional unless many values all have it. */
export function toDeclaration(name: string, shape: Shape): string {
  const type = toClosedType(shape);
  return type.startsWith("{") && type.endsWith("}") ? `interface ${name} ${type}` : `type ${name} = ${type};`;
}

/** A type with the fields that the values have, and no others. */
export function toClosedType(shape: Shape, indent = ""): string {
  return toType(shape, { isDocumented: false }, indent);
}

/** A type of values that are examples of what their sender documents: what all of them have is required, and more may come. */
export function toOpenType(shape: Shape, indent = ""): string {
  return toType(shape, { isDocumented: true }, indent);
}

/** The values are examples of what is documented: one is enough, and objects may have other fields. */
interface Style {
  isDocumented: boolean;
}

function toType(shape: Shape, style: Style, indent: string): string {
  return toParts(shape, style, indent).join(" | ");
}

/** The members of a union. */
function toParts(shape: Shape, style: Style, indent: string): string[] {
  const types = [...new Set([...shape.kinds].map((kind) => (kind === "integer" ? "number" : kind)))];
  const parts: string[] = types.filter((kind) => kind !== "null");
  if (shape.items) parts.push(toListType(shape.items, style, indent));
  if (shape.objects > 0) parts.push(toObjectType(shape, style, indent));
  // Nothing is known of a value that was always null.
  if (parts.length === 0) return ["unknown"];
  return shape.kinds.has("null") ? [...parts, "null"] : parts;
}

function toListType(items: Shape, style: Style, indent: string): string {
  const parts = toParts(items, style, indent);
  return parts.length > 1 ? `(${parts.join(" | ")})[]` : `${parts[0]}[]`;
}

function toObjectType(shape: Shape, style: Style, indent: string): string {
  const inner = `${indent}  `;
  const { isDocumented } = style;
  const open = isDocumented ? `${inner}[field: string]: unknown;\n` : "";
  if (shape.fields.size === 0) return isDocumented ? `{\n${open}${indent}}` : "object";
  if (!isDocumented && isTable(shape))
    return `{\n${inner}[name: string]: ${toType(mergeFields(shape), style, inner)};\n${indent}}`;
  const lines = [...shape.fields].map(([name, field]) => {
    const mark = isRequired(field, shape, isDocumented ? 1 : MIN_VALUES) ? "" : "?";
    return `${inner}${toKey(name)}${mark}: ${toType(field, style, inner)};\n`;
  });
  return `{\n${lines.join("")}${open}${indent}}`;
}

/** The key in TypeScript's syntax. */
export function toKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** The JSON Schema that all of the values fit. Fields that none of them had are allowed. */
export function toJsonSchema(shape: Shape): Record<string, unknown> {
  const types: string[] = [...shape.kinds].filter((kind) => kind !== "integer" || !shape.kinds.has("number"));
  if (shape.items) types.push("array");
  if (shape.objects > 0) types.push("object");
  if (types.length === 0 || types.join() === "null") return {};
  return {
    type: types.length === 1 ? types[0] : types,
    ...(shape.items && shape.items.values > 0 ? { items: toJsonSchema(shape.items) } : {}),
    ...(shape.objects > 0 ? toObjectSchema(shape) : {}),
  };
}

function toObjectSchema(shape: Shape): Record<string, unknown> {
  if (isTable(shape)) return { additionalProperties: toJsonSchema(mergeFields(shape)) };
  const required = [...shape.fields].filter(([, field]) => isRequired(field, shape)).map(([name]) => name);
  const properties = Object.fromEntries([...shape.fields].map(([name, field]) => [name, toJsonSchema(field)]));
  return { ...(required.length > 0 && { required }), properties };
}

function isRequired(field: Shape, { objects }: Shape, minValues = MIN_VALUES): boolean {
  return objects >= minValues && field.values === objects;
}

function isTable({ fields }: Shape): boolean {
  return fields.size > MAX_FIELDS;
}

function mergeFields({ fields }: Shape): Shape {
  return [...fields.values()].reduce(merge, createShape());
}

function merge(one: Shape, other: Shape): Shape {
  const merged: Shape = {
    values: one.values + other.values,
    objects: one.objects + other.objects,
    kinds: new Set([...one.kinds, ...other.kinds]),
    fields: new Map(one.fields),
  };
  for (const [name, field] of other.fields) {
    merged.fields.set(name, merge(merged.fields.get(name) ?? createShape(), field));
  }
  const lists = [one.items, other.items].filter((items) => items !== undefined);
  if (lists.length > 0) merged.items = lists.reduce(merge, createShape());
  return merged;
}
