import { appendSegment, isObject, type Segment, toObject } from "../../shared/json.ts";
import { listKeywords } from "./ajv.ts";
import { findNearest } from "../../shared/text/text.ts";

/** A keyword that the schema's draft does not have, so that it checks nothing. */
export interface UnknownKeyword {
  /** Where it is in the schema: `properties.state.enmu`. */
  key: string;
  name: string;
  /** The keyword that is probably meant. */
  nearest?: string;
}

/** Finds the unknown keywords of a valid schema. Annotations, keywords of OpenAPI and `x-…` are known. */
export function findUnknownKeywords(schema: unknown): UnknownKeyword[] {
  if (!isObject(schema)) return [];
  const known = listKeywords(schema);
  return findIn(schema, "");

  function findIn(part: Schema, key: string): UnknownKeyword[] {
    const unknown = Object.keys(part).filter(
      (name) => !known.has(name) && !HARMLESS.has(name) && !name.startsWith("x-"),
    );
    return [
      ...unknown.map((name) => ({
        key: appendSegment(key, name),
        name,
        // A typing error, rather than another word.
        nearest: findNearest(name, [...known], ({ length }) => Math.floor(length / 3)),
      })),
      ...listChildren(part, key).flatMap((child) => findIn(child.schema, child.key)),
    ];
  }
}

/**
 * OpenAPI's `nullable` means nothing without `type`, where ajv refuses it. The schema itself is not changed.
 */
export function withoutLooseNullable<Whole>(schema: Whole): Whole {
  const copy = structuredClone(schema);
  const visit = (part: Record<string, unknown>): void => {
    if (!("type" in part)) delete part["nullable"];
    for (const child of listChildren(part, "")) visit(child.schema);
  };
  if (isObject(copy)) visit(copy);
  return copy;
}

export function toUnknownKeyword(name: string): string {
  return `"${name}" is not a keyword of the schema's draft ($schema names it, the default is draft-07), so it is ignored.`;
}

/** A schema without its property that has a `const` or an `enum` takes any object without that property. */
export type OptionalConstant = Pick<UnknownKeyword, "key" | "name">;

/** Finds the properties of a valid schema that hold a `const` or an `enum`, and that nothing requires. */
export function findOptionalConstants(schema: unknown): OptionalConstant[] {
  return isObject(schema) ? findIn(schema, "", []) : [];

  /** `outer`: what the schemas around this one require of the same value. */
  function findIn(part: Schema, at: string, outer: unknown[]): OptionalConstant[] {
    const required = [...outer, ...listRequired(part)];
    return listChildren(part, at).flatMap(({ keyword, name, key, schema: child }) => {
      if (keyword !== "properties") return findIn(child, key, SAME_VALUE.has(keyword) ? required : []);
      return required.includes(name) || !hasConstant(child) ? findIn(child, key, []) : [{ key, name }];
    });
  }
}

type Schema = Record<string, unknown>;

/** Annotations of all drafts and keywords of OpenAPI that ajv does not know. */
const HARMLESS = new Set(
  "$anchor $dynamicAnchor $recursiveAnchor media links discriminator xml externalDocs example".split(" "),
);
/** Keywords with a schema for each name. */
const MAPS = new Set("properties patternProperties dependencies dependentSchemas definitions $defs".split(" "));
/** Keywords with a schema or a list of them. */
const SCHEMAS = new Set(
  (
    "allOf anyOf oneOf not if then else items prefixItems additionalItems unevaluatedItems contains " +
    "additionalProperties unevaluatedProperties propertyNames contentSchema"
  ).split(" "),
);
/** Keywords whose schemas are about the same value. */
const SAME_VALUE = new Set("allOf anyOf oneOf not if then else".split(" "));

interface Child {
  keyword: string;
  /** Its name or index under the keyword; empty if it is the only one. */
  name: string;
  key: string;
  schema: Schema;
}

function listChildren(schema: Schema, at: string): Child[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const key = appendSegment(at, keyword);
    if (SCHEMAS.has(keyword) && isObject(value)) return { keyword, name: "", key, schema: value };
    if (!MAPS.has(keyword) && !SCHEMAS.has(keyword)) return [];
    const parts: [Segment, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(toObject(value));
    return parts.flatMap(([name, part]) =>
      isObject(part) ? { keyword, name: String(name), key: appendSegment(key, name), schema: part } : [],
    );
  });
}

function listRequired({ required, allOf }: Schema): unknown[] {
  const others = Array.isArray(allOf) ? allOf.flatMap((part) => listRequired(toObject(part))) : [];
  return Array.isArray(required) ? [...required, ...others] : others;
}

function hasConstant(schema: Schema): boolean {
  return (
    "const" in schema ||
    "enum" in schema ||
    Object.values(toObject(schema["properties"])).some((property) => hasConstant(toObject(property)))
  );
}
