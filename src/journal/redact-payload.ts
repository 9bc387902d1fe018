import { isObject } from "../config/is-object.ts";
import { REDACTED } from "../config/redacted.ts";

/** Keys from the outside in; an index is its digits, `*` stands for every key or item. */
export type PayloadPath = readonly string[];

/** The payload with what the paths lead to replaced; the very same value where they lead to nothing. */
export function redactPayload(payload: unknown, paths: readonly PayloadPath[]): unknown {
  return paths.reduce(redactAt, payload);
}

/** Only what lies on the path is copied. */
function redactAt(value: unknown, path: PayloadPath): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return REDACTED;
  if (Array.isArray(value)) return redactItems(value, key, rest);
  return isObject(value) ? redactFields(value, key, rest) : value;
}

function redactItems(items: unknown[], key: string, rest: PayloadPath): unknown[] {
  const redacted = items.map((item, index) => (isMeant(String(index), key) ? redactAt(item, rest) : item));
  return redacted.some((item, index) => item !== items[index]) ? redacted : items;
}

function redactFields(fields: Record<string, unknown>, key: string, rest: PayloadPath): object {
  const redacted = Object.entries(fields).map(([name, value]): [string, unknown] => [
    name,
    isMeant(name, key) ? redactAt(value, rest) : value,
  ]);
  const changed = redacted.some(([name, value]) => value !== fields[name]);
  // Makes a field of its own even of `__proto__`.
  return changed ? Object.fromEntries(redacted) : fields;
}

function isMeant(name: string, key: string): boolean {
  return key === "*" || key === name;
}
