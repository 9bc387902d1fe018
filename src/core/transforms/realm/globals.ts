import type { LogLine } from "../../types.ts";
import { describeThrown, LOG_FULL, MAX_LOG } from "../sandbox/child-answer.ts";
import { defineGlobal } from "./harden.ts";

const LEVELS = ["debug", "log", "info", "warn", "error"] as const;

/** Replaces `Date` by one with a fixed clock, and gives the function that sets the clock. */
export function installClock(): (milliseconds: number) => void {
  const NativeDate = Date;
  let now = 0;

  function FixedDate(...args: unknown[]): unknown {
    if (new.target === undefined) return new NativeDate(now).toString();
    return Reflect.construct(NativeDate, args.length === 0 ? [now] : args, new.target);
  }
  Object.defineProperties(FixedDate, {
    ...Object.getOwnPropertyDescriptors(NativeDate),
    now: { value: () => now, writable: true, configurable: true },
  });
  Object.defineProperty(NativeDate.prototype, "constructor", { value: FixedDate });
  defineGlobal("Date", FixedDate);
  fixFormat(() => now);

  return function setNow(milliseconds) {
    now = milliseconds;
  };
}

/** Without a date, a `DateTimeFormat` would use the system clock. */
function fixFormat(now: () => number): void {
  const { prototype } = Intl.DateTimeFormat;
  const { get } = Object.getOwnPropertyDescriptor(prototype, "format")!;
  const { formatToParts } = prototype;
  Object.defineProperties(prototype, {
    format: {
      get(this: Intl.DateTimeFormat) {
        const format: Intl.DateTimeFormat["format"] = Reflect.apply(get!, this, []);
        return (date: Date | number = now()) => format(date);
      },
      configurable: true,
    },
    formatToParts: {
      value(this: Intl.DateTimeFormat, date: Date | number = now()) {
        return Reflect.apply(formatToParts, this, [date]);
      },
      writable: true,
      configurable: true,
    },
  });
}

/**
 * Replaces the registry of symbols by one for each call, and gives the function that empties it. All modules of an isolate
 * share V8's own, which never forgets a name.
 */
export function installSymbols(): () => void {
  const symbols = new Map<string, symbol>();
  const names = new Map<symbol, string>();
  const registry = {
    for(key: unknown): symbol {
      const name = String(key);
      const known = symbols.get(name);
      if (known) return known;
      const symbol = Symbol(name);
      symbols.set(name, symbol);
      names.set(symbol, name);
      return symbol;
    },
    keyFor(symbol: symbol): string | undefined {
      if (typeof symbol !== "symbol") throw new TypeError(`${String(symbol)} is not a symbol`);
      return names.get(symbol);
    },
  };
  for (const [name, value] of Object.entries(registry)) {
    Object.defineProperty(Symbol, name, { value, writable: true, configurable: true });
  }

  return function forgetSymbols() {
    if (symbols.size === 0) return;
    symbols.clear();
    names.clear();
  };
}

/** Replaces `console` by one that keeps its lines, and gives the function that takes them. */
export function installConsole(): CallLog {
  let lines: LogLine[] = [];
  let room = MAX_LOG.characters;
  let full = false;

  function write(level: LogLine["level"], values: unknown[]): void {
    if (full) return;
    const text = values.map(printValue).join(" ");
    full = lines.length === MAX_LOG.lines || text.length > room;
    room -= text.length;
    lines.push(full ? LOG_FULL : { level, text });
  }

  const entries = LEVELS.map((level) => [level, (...values: unknown[]) => write(level, values)]);
  defineGlobal("console", Object.fromEntries(entries));

  return {
    clear() {
      lines = [];
      room = MAX_LOG.characters;
      full = false;
    },
    read: () => lines,
  };
}

/** The log of a call so far. */
export interface CallLog {
  clear(): void;
  read(): LogLine[];
}

/** Never throws. */
function printValue(value: unknown): string {
  try {
    if (typeof value === "function") return `[function ${value.name || "(anonymous)"}]`;
    if (typeof value !== "object" || value === null) return String(value);
    if (value instanceof Error) return describeThrown(value).message;
    if (value instanceof Map || value instanceof Set) return `${value.constructor.name} ${JSON.stringify([...value])}`;
    return JSON.stringify(value);
  } catch {
    return `[${typeof value} that cannot be printed]`;
  }
}

/** Adds `structuredClone` for plain data, Map, Set, Date, RegExp, Error and bytes, with cycles. */
export function installStructuredClone(): void {
  defineGlobal("structuredClone", function structuredClone(value: unknown): unknown {
    return clone(value, new Map());
  });
}

/** The copy of each object so far, so that a cycle ends. */
type Copies = Map<object, object>;

function clone(value: unknown, copies: Copies): unknown {
  if (typeof value === "function" || typeof value === "symbol") {
    throw new TypeError(`A ${typeof value} cannot be cloned.`);
  }
  if (typeof value !== "object" || value === null) return value;
  return copies.get(value) ?? cloneObject(value, copies);
}

function cloneObject(value: object, copies: Copies): object {
  const leaf = cloneLeaf(value);
  if (leaf) return remember(value, leaf, copies);
  if (value instanceof Map) {
    const copy = remember(value, new Map<unknown, unknown>(), copies);
    for (const [key, item] of value) copy.set(clone(key, copies), clone(item, copies));
    return copy;
  }
  if (value instanceof Set) {
    const copy = remember(value, new Set<unknown>(), copies);
    for (const item of value) copy.add(clone(item, copies));
    return copy;
  }
  const copy = remember(value, Array.isArray(value) ? Array.from({ length: value.length }) : {}, copies);
  for (const [key, item] of Object.entries(value)) {
    const property = { value: clone(item, copies), writable: true, configurable: true, enumerable: true };
    Object.defineProperty(copy, key, property);
  }
  return copy;
}

/** The copy of an object that contains no others. */
function cloneLeaf(value: object): object | undefined {
  if (value instanceof Date) return new Date(value.getTime());
  if (value instanceof RegExp) return new RegExp(value.source, value.flags);
  if (value instanceof ArrayBuffer) return value.slice(0);
  if (value instanceof DataView) return new DataView(value.buffer.slice(0), value.byteOffset, value.byteLength);
  if (value instanceof Uint8Array) return value.slice();
  if (value instanceof Error) {
    const name = { value: value.name, writable: true, configurable: true };
    return Object.defineProperty(new Error(value.message), "name", name);
  }
  if (ArrayBuffer.isView(value)) throw new TypeError("The only typed array that can be cloned here is Uint8Array.");
  return undefined;
}

function remember<Copy extends object>(value: object, copy: Copy, copies: Copies): Copy {
  copies.set(value, copy);
  return copy;
}
