/** A field that the value itself holds; `undefined` for what it only inherits, and for what can hold no fields. */
export function readOwn(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return Reflect.get(value, key);
}
