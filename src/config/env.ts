import type { ConfigProblem } from "../errors.ts";
import { isObject } from "./is-object.ts";
import { appendSegment } from "./key-path.ts";

/** `${NAME}`, or `$${NAME}` for the text itself. */
const REFERENCE = /(\$?)\$\{([A-Za-z_]\w*)\}/g;

/**
 * A copy of a configuration with `${NAME}` replaced in every string value, keys left as they are. A variable
 * that is not set is a problem, and its `${NAME}` stays. What an object sets to undefined is left out, as if
 * it had not been written.
 */
export function substituteEnv(
  value: unknown,
  env: NodeJS.ProcessEnv,
): { value: unknown; problems: ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  return { value: copy(value, ""), problems };

  function copy(part: unknown, key: string): unknown {
    if (typeof part === "string") return replace(part, key);
    if (Array.isArray(part)) return part.map((item, index) => copy(item, appendSegment(key, index)));
    if (!isObject(part)) return part;
    const entries = Object.entries(part).filter(([, child]) => child !== undefined);
    // Not by assignment: a key `__proto__` must stay a key, to be reported as an unknown one.
    return Object.fromEntries(entries.map(([name, child]) => [name, copy(child, appendSegment(key, name))]));
  }

  function replace(text: string, key: string): string {
    return text.replace(REFERENCE, (reference, escape: string, name: string) => {
      if (escape !== "") return reference.slice(1);
      const found = env[name];
      if (found === undefined) problems.push({ key, message: `the environment variable ${name} is not set` });
      return found ?? reference;
    });
  }
}
