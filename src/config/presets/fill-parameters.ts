import { isObject } from "../is-object.ts";
import { appendSegment } from "../key-path.ts";

/** A place where a parameter's value went in, as a dotted path. */
export interface ParameterUse {
  key: string;
  name: string;
}

/**
 * A copy of a preset's mapping, which stands at `key`, with each `{ "$param": "x" }` replaced by the value of
 * x. Without a value, its key is left out.
 */
export function fillParameters(
  template: unknown,
  key: string,
  values: ReadonlyMap<string, unknown>,
): { value: unknown; uses: ParameterUse[] } {
  const uses: ParameterUse[] = [];
  return { value: fill(template, key), uses };

  function fill(part: unknown, at: string): unknown {
    if (Array.isArray(part))
      return part.map((item, index) => fill(item, appendSegment(at, index))).filter(isGiven);
    if (!isObject(part)) return part;
    if (typeof part["$param"] === "string") return fillIn(part["$param"], at);
    const entries = Object.entries(part).map(([name, child]) => [name, fill(child, appendSegment(at, name))]);
    return Object.fromEntries(entries.filter(([, child]) => isGiven(child)));
  }

  function fillIn(name: string, at: string): unknown {
    uses.push({ key: at, name });
    return values.get(name);
  }
}

function isGiven(value: unknown): boolean {
  return value !== undefined;
}
