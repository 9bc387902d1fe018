import { isObject } from "./is-object.ts";
import { toKeyPath, type Segment } from "./key-path.ts";
import { toRule } from "./schema-rule.ts";
import type { Violation } from "./violation.ts";

/** One way in which a value does not fit its schema. */
export interface SchemaProblem {
  /**
   * Dotted path of the field, `messages[0].from`; of a missing one, where it would stand; empty: the value
   * itself.
   */
  path: string;
  /** The path in steps. */
  segments: Segment[];
  /** What the field must be, without its name: `must be a string, not a number`. */
  rule: string;
  /**
   * Field and rule as one sentence that may be shown to whoever sent the value: it never holds a value, nor a
   * field name that is more than letters, digits, `_`, `$` and `-`.
   */
  message: string;
  /** Set where the field is one that the schema does not know: its name, and those it could have been. */
  unknown?: { name: string; known: string[] };
}

export function toSchemaProblems(violations: Violation[], value: unknown, subject: string): SchemaProblem[] {
  return violations.map((violation) => toProblem(violation, value, subject));
}

function toProblem(violation: Violation, root: unknown, subject: string): SchemaProblem {
  const { segments, value } = follow(violation.instancePath, root);
  const name = namedField(violation);
  const place = name === undefined ? segments : [...segments, name];
  const rule = toRule(violation, value);
  const spoken = isUnknownField(violation) ? segments : place;
  return {
    path: toKeyPath(place),
    segments: place,
    rule,
    message: `${toKeyPath(plainStart(spoken)) || subject} ${isUnknownField(violation) ? UNKNOWN_FIELD : rule}`,
    ...(isUnknownField(violation) && { unknown: toUnknown(violation, String(name)) }),
  };
}

const UNKNOWN_FIELD = "holds a field that is not allowed";

/** Walks a JSON pointer, so that an array's index can be told from an object's key. */
function follow(pointer: string, root: unknown): { segments: Segment[]; value: unknown } {
  const segments: Segment[] = [];
  let value = root;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    const segment = Array.isArray(value) ? Number(key) : key;
    segments.push(segment);
    value = childOf(value, segment);
  }
  return { segments, value };
}

function childOf(value: unknown, segment: Segment): unknown {
  if (Array.isArray(value)) return value[Number(segment)];
  return isObject(value) ? value[segment] : undefined;
}

/** The field that is missing or too much: the violation itself is reported on its object. */
function namedField({ keyword, params }: Violation): string | undefined {
  const name =
    keyword === "required"
      ? params["missingProperty"]
      : (params["additionalProperty"] ?? params["unevaluatedProperty"]);
  return typeof name === "string" ? name : undefined;
}

function isUnknownField({ keyword }: Violation): boolean {
  return keyword === "additionalProperties" || keyword === "unevaluatedProperties";
}

function toUnknown({ parentSchema }: Violation, name: string): { name: string; known: string[] } {
  return { name, known: Object.keys(parentSchema?.["properties"] ?? {}) };
}

/** A sender chooses the names in an open object: what looks like no name is not repeated. */
function plainStart(segments: Segment[]): Segment[] {
  const odd = segments.findIndex((segment) => typeof segment === "string" && !/^[\w$-]{1,64}$/.test(segment));
  return odd === -1 ? segments : segments.slice(0, odd);
}
