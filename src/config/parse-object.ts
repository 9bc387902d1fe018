import { isObject } from "./is-object.ts";

/** The object that a text of JSON holds; an empty one where it holds none. */
export function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
