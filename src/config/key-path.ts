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
