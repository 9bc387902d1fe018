import { isObject, readOwn, readPath, type Segment } from "../shared/json.ts";
import type { Reference } from "./references.ts";
import type { SchemaProblem } from "./schema/problems.ts";
import { listTypes } from "./schema/rule-text.ts";

/** Whether the value is the reference and nothing else. */
export function isWholeReference({ written, reference }: Reference): boolean {
  return written === reference;
}

export interface TypedPlace {
  /** The places that do not fit their schema. */
  find(): SchemaProblem[];
  /** The key of the configuration. */
  keyOf(segments: readonly Segment[]): string;
  /** The keys of references without a value. Where they cannot be text, the default is used. */
  unresolved?: readonly string[];
  /** undefined: the value is removed. */
  set(segments: readonly Segment[], value: unknown): void;
}

/**
 * Gives each value that is one reference the type of its place, where that does not take text. Returns the problems that
 * are left.
 */
export function typeReferences(
  references: readonly Reference[],
  { find, keyOf, set, unresolved = [] }: TypedPlace,
): SchemaProblem[] {
  const unset = new Set(unresolved);
  const whole = new Map(references.filter(isWholeReference).map((reference) => [reference.key, reference]));
  if (whole.size === 0 && unset.size === 0) return find();
  for (;;) {
    let isChanged = false;
    const problems = find().map((problem) => {
      const key = problem.types ? keyOf(problem.segments) : "";
      if (unset.delete(key)) {
        isChanged = true;
        set(problem.segments, undefined);
        return problem;
      }
      const reference = whole.get(key);
      if (!reference || !problem.types) return problem;
      const isElsewhere = reference.value.startsWith(PLACEHOLDER);
      const typed = isElsewhere ? undefined : toTyped(reference.value, problem.types);
      if (typed === undefined && !isElsewhere) {
        const rule = `must be ${listTypes(problem.types)}; ${reference.reference} holds something else`;
        return { ...problem, rule };
      }
      whole.delete(reference.key);
      isChanged = true;
      set(problem.segments, typed);
      return problem;
    });
    if (!isChanged) return problems;
  }
}

/** Replaces a value in place, or removes it. */
export function setAt(root: unknown, segments: readonly Segment[], value: unknown): void {
  const parent = readPath(root, segments.slice(0, -1));
  const name = segments.at(-1) ?? "";
  if (value === undefined && isObject(parent)) delete parent[name];
  if (typeof parent === "object" && parent !== null && readOwn(parent, name) !== undefined)
    Reflect.set(parent, name, value);
}

const PLACEHOLDER = "not-set-in-this-environment-";

/** The value of a variable that is set elsewhere. Where it cannot be text, the default is used. Long enough for a token. */
export function toPlaceholder(name: string): string {
  return PLACEHOLDER + name;
}

/** Split at commas. */
export function splitList(text: string): string[] {
  return text.trim() === "" ? [] : text.split(",").map((item) => item.trim());
}

const WHOLE = /^-?(?:0|[1-9]\d*)$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

function toTyped(text: string, types: readonly string[]): unknown {
  if (types.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  if (types.includes("number") ? NUMBER.test(text) : types.includes("integer") && WHOLE.test(text)) return Number(text);
  // Beside another type, items are no text.
  return types.every((type) => type === "array") ? splitList(text) : undefined;
}
