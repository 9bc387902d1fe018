/** True for what JSON calls an object: no array, no null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object that a text of JSON holds; an empty one where it holds none. */
export function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** A field that the value itself holds; `undefined` for what it only inherits, and for what can hold no fields. */
export function readOwn(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return Reflect.get(value, key);
}

/** Keys from the outside in; an index is its digits. Empty: the value itself. */
export type Path = readonly string[];

/** Reads `a.b[0].c` (or `a.b.0.c`); `undefined` where the text is no path. */
export function parsePath(text: string): Path | undefined {
  if (!PATH.test(text)) return undefined;
  return text.match(KEY)?.map((key) => key.replace(/^\[|\]$/g, ""));
}

/** The value that the path leads to, over own fields only; `undefined` where it breaks off. */
export function readPath(value: unknown, path: Path): unknown {
  return path.reduce((parent, key) => readOwn(parent, key), value);
}

/** The value with another one at the end of the path. Only what lies on the path is copied. */
export function replaceAt(value: unknown, path: Path, replacement: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return replacement;
  const child = replaceAt(readOwn(value, key), rest, replacement);
  if (Array.isArray(value)) return value.with(Number(key), child);
  // A computed key makes a field of its own even of `__proto__`.
  return { ...(isObject(value) && value), [key]: child };
}

const KEY = /\[[^[\]]+\]|[^.[\]]+/g;
const PATH = /^(?:\[[^[\]]+\]|[^.[\]]+)(?:\.[^.[\]]+|\.?\[[^[\]]+\])*$/;

/** A step from a value to one inside it: a key of an object or an index of an array. */
export type Segment = string | number;

/**
 * `["hooks", "mappings", 0, "channel"]` → `hooks.mappings[0].channel`. A key that could be misread is quoted:
 * `headers["a.b"]`.
 */
export function toKeyPath(segments: readonly Segment[]): string {
  return segments.reduce<string>(appendSegment, "");
}

/** The path of a child of what `path` names. */
export function appendSegment(path: string, segment: Segment): string {
  if (typeof segment === "number") return `${path}[${segment}]`;
  if (!PLAIN_KEY.test(segment)) return `${path}[${JSON.stringify(segment)}]`;
  return path === "" ? segment : `${path}.${segment}`;
}

/** True where `key` is `outer` or stands inside it. */
export function isWithin(key: string, outer: string): boolean {
  return key === outer || (key.startsWith(outer) && [".", "["].includes(key.charAt(outer.length)));
}

const PLAIN_KEY = /^[^\s.[\]"]+$/;
