/** True for a JSON object, not for an array or null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A JSON object as it is, anything else as an empty object. */
export function toObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

export function withoutUndefined(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The fields of these names that are set. */
export function pick<Source extends object, Name extends keyof Source>(
  source: Source,
  names: readonly Name[],
): Partial<Pick<Source, Name>> {
  const picked: Partial<Pick<Source, Name>> = {};
  for (const name of names) if (source[name] !== undefined) picked[name] = source[name];
  return picked;
}

/** The objects of an array. None of anything else. */
export function toObjects(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Parses a JSON object. Returns an empty object for any other text. */
export function parseObject(text: string): Record<string, unknown> {
  return toObject(parseJson(text));
}

/** Parses JSON. Returns undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Tests a value like the template helper `if`: an empty list is false. */
export function isTrue(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/** A value as text: nothing if it is missing or null, JSON if it is not text already. */
export function toText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** An own field of a value; undefined if it is inherited or missing. */
export function readOwn(value: unknown, key: Segment): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return Reflect.get(value, key);
}

const KEY = /\[[^[\]]+\]|[^.[\]]+/g;
const PATH = /^(?:\[[^[\]]+\]|[^.[\]]+)(?:\.[^.[\]]+|\.?\[[^[\]]+\])*$/;
/** A key that needs no quotes in a path. */
const PLAIN_KEY = /^[^\s.[\]"]+$/;

/** Keys from the outside in. An index is its digits. */
export type Path = readonly string[];

/** Parses `a.b[0].c` or `a.b.0.c`. Returns undefined for an invalid path. */
export function parsePath(text: string): Path | undefined {
  if (!PATH.test(text)) return undefined;
  return text.match(KEY)?.map((key) => key.replace(/^\[|\]$/g, ""));
}

/** The value at a path of own fields, or undefined. */
export function readPath(value: unknown, path: readonly Segment[]): unknown {
  return path.reduce((parent, key) => readOwn(parent, key), value);
}

/** A copy of the value with a replacement at the path. Values outside of the path are shared. */
export function replaceAt(value: unknown, path: Path, replacement: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return replacement;
  const child = replaceAt(readOwn(value, key), rest, replacement);
  if (Array.isArray(value)) return value.with(Number(key), child);
  // A computed key creates a field even for `__proto__`.
  return { ...(isObject(value) && value), [key]: child };
}

/** A key of an object or an index of an array. */
export type Segment = string | number;

/** `["hooks", "mappings", 0, "channel"]` → `hooks.mappings[0].channel`. Ambiguous keys are quoted: `headers["a.b"]`. */
export function toKeyPath(segments: readonly Segment[]): string {
  return segments.reduce<string>(appendSegment, "");
}

/** The path of a child. */
export function appendSegment(path: string, segment: Segment): string {
  if (typeof segment === "number") return `${path}[${segment}]`;
  if (!PLAIN_KEY.test(segment)) return `${path}[${JSON.stringify(segment)}]`;
  return path === "" ? segment : `${path}.${segment}`;
}

/** True if the path `key` is `outer` or inside it. */
export function isWithin(key: string, outer: string): boolean {
  return key === outer || (key.startsWith(outer) && [".", "["].includes(key.charAt(outer.length)));
}

/**
 * The keyword `uniqueItems` in linear time: ajv compares each item with each other, which takes many seconds for the
 * largest payloads.
 */
export function hasUniqueItems(items: readonly unknown[]): boolean {
  return items.length < 2 || new Set(items.map(toIdentity)).size === items.length;
}

/** The same text for equal values and for no others. Unlike in JSON, `1e400` is not null. */
function toIdentity(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toIdentity).join(",")}]`;
  if (isObject(value)) return `{${Object.keys(value).toSorted().map(toField(value)).join(",")}}`;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

function toField(object: Record<string, unknown>) {
  return (name: string): string => `${JSON.stringify(name)}:${toIdentity(object[name])}`;
}

/** Parts of JSON Schemas that several drivers share. */

/** The JSON Schema of an object that has these properties and no others. `required`: their names. */
export function objectSchema<const Required extends readonly (keyof Properties)[], const Properties extends object>(
  required: Required,
  properties: Properties,
): {
  readonly type: "object";
  readonly additionalProperties: false;
  readonly required: Required;
  readonly properties: Properties;
} {
  return { type: "object", additionalProperties: false, required, properties };
}

export const NON_BLANK = { type: "string", pattern: "\\S" } as const;

export const HTTP_URL = { type: "string", pattern: "^https?://" } as const;
/** Names with their texts, such as headers. */
export const TEXTS = { type: "object", additionalProperties: { type: "string" } } as const;
/** A program and its arguments. */
export const COMMAND = { type: "array", minItems: 1, items: { type: "string", minLength: 1 } } as const;

/** Far above any real payload, far below the depth at which recursive code overflows the stack. */
export const MAX_DEPTH = 1000;

/** Whether a value nests deeper than `MAX_DEPTH`. */
export function isTooDeep(value: unknown): boolean {
  return isNested(value) && isDeeper(value, MAX_DEPTH);
}

function isDeeper(value: object, levels: number): boolean {
  if (levels === 0) return true;
  for (const field of Array.isArray(value) ? value : Object.values(value)) {
    if (isNested(field) && isDeeper(field, levels - 1)) return true;
  }
  return false;
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
