import { isObject } from "../config/is-object.ts";
import { readOwn } from "./own.ts";

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
