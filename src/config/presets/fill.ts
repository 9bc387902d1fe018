import { appendSegment, isObject, readPath } from "../../shared/json.ts";

/** A value that a preset is given, and the key of the configuration that it comes from. */
export interface Parameter {
  value: unknown;
  key: string;
}

/** A place in a preset's file that a parameter's value was written to, as a dotted path. */
export interface ParameterUse {
  key: string;
  /** The parameter, and the rest of its dotted path. */
  name: string;
  path: string[];
}

export interface FillOptions {
  parameters: ReadonlyMap<string, Parameter>;
  /** Reads a file of the preset's folder. */
  readFile(name: string): string;
}

/**
 * A copy of a preset's mapping in which `{ "$param": "x.y" }` is the value of y in the parameter x, and
 * `{ "$file": "x.hbs" }` the text of a file; with both, the file replaces a parameter without a value. Otherwise,
 * without a value, the key or item is left out. So is an object with `"$if": "x.y"` if that is missing, false or empty. Of an
 * object with `"$case": "x.y"` the field with the name of that value is taken.
 */
export function fillParameters(
  template: unknown,
  key: string,
  { parameters, readFile }: FillOptions,
): { value: unknown; uses: ParameterUse[] } {
  const uses: ParameterUse[] = [];
  return { value: fill(template, key), uses };

  function fill(part: unknown, at: string): unknown {
    if (Array.isArray(part)) {
      return part.map((item, index) => fill(item, appendSegment(at, index))).filter((item) => item !== undefined);
    }
    if (!isObject(part)) return part;
    const { $if: condition, $case: choice, $param: parameter, $file: file, ...fields } = part;
    if (typeof condition === "string" && !isSet(read(condition, at))) return undefined;
    if (typeof choice === "string") return fill(readPath(fields, [String(read(choice, at))]), at);
    const given = typeof parameter === "string" ? read(parameter, at) : undefined;
    if (given === undefined && typeof file === "string") return readFile(file).trimEnd();
    if (typeof parameter === "string") return given;
    const entries = Object.entries(fields).map(([name, child]) => [name, fill(child, appendSegment(at, name))]);
    return Object.fromEntries(entries.filter(([, child]) => child !== undefined));
  }

  function read(parameter: string, at: string): unknown {
    const [name = "", ...path] = parameter.split(".");
    uses.push({ key: at, name, path });
    return readPath(parameters.get(name)?.value, path);
  }
}

function isSet(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}
