import path from "node:path";
import { appendSegment, isObject, isWithin, readOwn, readPath, toObject } from "../shared/json.ts";
import { isPresetPath } from "./presets/file.ts";
import type { Reference } from "./references.ts";
import { isWholeReference, splitList } from "./typed-references.ts";

/** A file of a configuration, with its references resolved. */
export interface PartSource {
  /** Absolute; undefined for a program's own object. */
  file: string | undefined;
  baseDir: string;
  value: unknown;
  references: readonly Reference[];
  /** Keys that have another name than in the file, with that. */
  renamed: ReadonlyMap<string, string>;
}

/** Where a value of the configuration is written. */
export interface Origin {
  file: string | undefined;
  /** Dotted path in the file. */
  key: string;
  baseDir: string;
  /** The part's own `hooks.transformsDir`, absolute. */
  transformsDir: string | undefined;
}

export interface Merged {
  /** A part's paths are absolute. */
  value: unknown;
  /** References of values that are in use. */
  references: Reference[];
  /** Where the value of a key is written, or what is around it. The including file is the first. */
  find(key: string): Origin;
  /** The key in the configuration of a key in one of its files. */
  toMerged(source: PartSource, key: string): string;
  /** Values of two parts, with the places of both. */
  conflicts: { later: Origin; earlier: Origin }[];
}

/** Lists that are joined, the including file's first. */
const JOINED = ["plugins", "alerts", "hooks.mappings", "hooks.presets"];
/** Objects with an entry for each thing that has a name, which one part alone describes. */
const NAMED = ["channels", "agents.providers", "agents.tools", "hooks.tokens", "gateway.mcp.principals"];

interface Contribution {
  source: PartSource;
  value: unknown;
}

/** Merges objects by key. `main` wins over the parts, and two parts must not set one value. */
export function mergeParts(main: PartSource, parts: readonly PartSource[]): Merged {
  const transformsDirs = new Map(parts.map((part) => [part.file, findTransformsDir(part)]));
  const conflicts: Merged["conflicts"] = [];
  /** By the key of the configuration. */
  const places = new Map<string, { source: PartSource; key: string }>();
  const given = [main, ...parts].map((source) => ({
    source,
    value: source === main ? main.value : toOwnValue(source),
  }));
  const value = isObject(main.value) ? mergeAt("", "", given) : take("", { source: main, value: main.value });
  const references = [main, ...parts].flatMap((source) =>
    source.references.flatMap((reference) => {
      const key = toMerged(source, reference.key);
      return parts.length === 0 || find(key).file === source.file ? [{ ...reference, key }] : [];
    }),
  );
  return { value, references, find, toMerged, conflicts };

  /** `parent`: the key of the object around it. */
  function mergeAt(key: string, parent: string, all: readonly Contribution[]): unknown {
    const [first, ...others] = all;
    if (!first) return undefined;
    if (JOINED.includes(key)) return join(key, first, all);
    if (others.length === 0) return take(key, first);
    const areObjects = all.every((one) => isObject(one.value));
    if (first.source !== main && key !== "$schema" && (!areObjects || NAMED.includes(parent))) {
      const earlier = toOrigin(first.source, key);
      for (const { source } of others) conflicts.push({ earlier, later: toOrigin(source, key) });
      return take(key, first);
    }
    if (!isObject(first.value)) return take(key, first);
    places.set(key, { source: first.source, key });
    const objects = all.filter((one) => isObject(one.value));
    const names = new Set(objects.flatMap((one) => Object.keys(toObject(one.value))));
    const entries = Array.from(names, (name): [string, unknown] => {
      const having = objects.filter((one) => Object.hasOwn(toObject(one.value), name));
      const children = having.map((one) => ({ source: one.source, value: readOwn(one.value, name) }));
      return [name, mergeAt(appendSegment(key, name), key, children)];
    });
    // An assignment would not keep a key `__proto__`, which must be reported as unknown.
    return Object.fromEntries(entries);
  }

  function join(key: string, first: Contribution, all: readonly Contribution[]): unknown {
    const lists = all.map((one) => ({ ...one, list: toList(one.value, key, one.source) }));
    const odd = lists.find(({ list }) => list === undefined);
    if (odd) return take(key, odd);
    places.set(key, { source: first.source, key });
    const items = lists.flatMap(({ source, list = [] }) => list.map((item, index) => ({ source, item, index })));
    return items.map(({ source, item, index }, at) => {
      places.set(appendSegment(key, at), { source, key: appendSegment(key, index) });
      return item;
    });
  }

  function take(key: string, { source, value: taken }: Contribution): unknown {
    places.set(key, { source, key });
    return taken;
  }

  function toOrigin(source: PartSource, key: string): Origin {
    const { file, baseDir } = source;
    return { file, baseDir, key: toWritten(source, key), transformsDir: transformsDirs.get(file) };
  }

  function find(key: string): Origin {
    for (
      let outer = key;
      outer !== "";
      outer = outer.slice(0, Math.max(outer.lastIndexOf("."), outer.lastIndexOf("["), 0))
    ) {
      const place = places.get(outer);
      if (place) return toOrigin(place.source, place.key + key.slice(outer.length));
    }
    return toOrigin(main, key);
  }

  function toMerged(source: PartSource, key: string): string {
    const own = [...source.renamed].find(([, written]) => isWithin(key, written));
    const known = own ? own[0] + key.slice(own[1].length) : key;
    if (!JOINED.some((list) => known.startsWith(`${list}[`))) return known;
    const item = known.slice(0, known.indexOf("]") + 1);
    const placed = [...places].find(([, place]) => place.source === source && place.key === item);
    return placed ? placed[0] + known.slice(item.length) : known;
  }
}

/** The key as it is in the file. */
function toWritten({ renamed }: PartSource, key: string): string {
  const found = [...renamed].find(([name]) => isWithin(key, name));
  return found ? found[1] + key.slice(found[0].length) : key;
}

/** A list that is one reference is made of its text. */
export function toList(
  value: unknown,
  key: string,
  { references }: Pick<PartSource, "references">,
): unknown[] | undefined {
  if (Array.isArray(value)) return value;
  const isReference = references.some((reference) => reference.key === key && isWholeReference(reference));
  return typeof value === "string" && isReference ? splitList(value) : undefined;
}

/** Another value than a text is left to the schema. */
function findTransformsDir({ value, baseDir }: PartSource): string | undefined {
  const dir = readPath(value, ["hooks", "transformsDir"]);
  return typeof dir === "string" && dir.trim() !== "" ? path.resolve(baseDir, dir) : undefined;
}

/** A part's value without what counts for the part alone, and with absolute paths. */
function toOwnValue(part: PartSource): unknown {
  const { include: _, ...value } = toObject(part.value);
  const resolve = (written: unknown): unknown =>
    typeof written === "string" && written.trim() !== "" ? path.resolve(part.baseDir, written) : written;
  const list = (change: (item: unknown) => unknown) => (items: unknown) =>
    Array.isArray(items) ? items.map(change) : items;
  const own = (name: string, change: (child: unknown) => unknown) => (parent: unknown) =>
    isObject(parent) && Object.hasOwn(parent, name) ? { ...parent, [name]: change(parent[name]) } : parent;
  const each = (change: (child: unknown) => unknown) => (parent: unknown) =>
    isObject(parent)
      ? Object.fromEntries(Object.entries(parent).map(([name, child]) => [name, change(child)]))
      : parent;
  const usePath = (use: unknown): unknown => (typeof use === "string" && isPresetPath(use) ? resolve(use) : use);
  const usePlugin = (plugin: unknown): unknown =>
    typeof plugin === "string" && plugin.startsWith(".") ? resolve(plugin) : plugin;
  const block = each((one) => own("sandbox", own("read", list(resolve)))(own("cwd", resolve)(one)));
  const withoutTransforms = (hooks: unknown): unknown => {
    if (!isObject(hooks) || findTransformsDir(part) === undefined) return hooks;
    const { transformsDir: _dir, ...others } = hooks;
    return others;
  };
  const changes = [
    own("plugins", list(usePlugin)),
    own(
      "hooks",
      own(
        "presets",
        list((entry) => (isObject(entry) ? own("use", usePath)(entry) : usePath(entry))),
      ),
    ),
    own("hooks", own("transformRoots", list(resolve))),
    own("hooks", withoutTransforms),
    own("store", own("path", resolve)),
    own("agents", own("providers", block)),
    own("agents", own("tools", block)),
  ];
  return changes.reduce<unknown>((changed, change) => change(changed), value);
}
