/**
 * The globals of a transform besides the language itself. There is no network, file system or process. The time zone is UTC
 * and the locale en-US on every machine, so that a result does not depend on it: give `Intl` a `timeZone` and a locale.
 */
declare const console: {
  /** Captured: shown with the event, by `npx hookline try` and by `npx hookline test`. */
  log(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  dir(value: unknown): void;
  table(rows: unknown): void;
  trace(...values: unknown[]): void;
  assert(condition: unknown, ...values: unknown[]): void;
  group(...values: unknown[]): void;
  groupEnd(): void;
  time(label?: string): void;
  timeLog(label?: string, ...values: unknown[]): void;
  timeEnd(label?: string): void;
  count(label?: string): void;
  countReset(label?: string): void;
};

/** A timer of the call. It needs no wait: once nothing else is left to do, the clock moves to the next one. */
interface TransformTimer {
  ref(): this;
  unref(): this;
  hasRef(): boolean;
  refresh(): this;
  [Symbol.toPrimitive](): number;
}

/** `delay` is in milliseconds, 1 to 2^31 - 1; anything else counts as 1. */
declare function setTimeout<Args extends unknown[]>(
  callback: (...args: Args) => void,
  delay?: number,
  ...args: Args
): TransformTimer;
declare function setInterval<Args extends unknown[]>(
  callback: (...args: Args) => void,
  delay?: number,
  ...args: Args
): TransformTimer;
declare function setImmediate<Args extends unknown[]>(callback: (...args: Args) => void, ...args: Args): TransformTimer;
declare function clearTimeout(timer?: TransformTimer | number): void;
declare function clearInterval(timer?: TransformTimer | number): void;
declare function clearImmediate(timer?: TransformTimer | number): void;
declare function queueMicrotask(callback: () => void): void;

declare const performance: {
  /** Milliseconds since the call began; they pass only with its timers. */
  now(): number;
  readonly timeOrigin: number;
};

declare class DOMException extends Error {
  constructor(message?: string, options?: string | { name?: string; cause?: unknown });
  readonly code: number;
}

declare class Event {
  constructor(type: string, options?: { bubbles?: boolean; cancelable?: boolean; composed?: boolean });
  readonly type: string;
  readonly target: EventTarget | null;
  readonly currentTarget: EventTarget | null;
  readonly timeStamp: number;
  readonly cancelable: boolean;
  readonly defaultPrevented: boolean;
  preventDefault(): void;
  stopImmediatePropagation(): void;
}

declare class CustomEvent<Detail = unknown> extends Event {
  constructor(type: string, options?: { cancelable?: boolean; detail?: Detail });
  readonly detail: Detail;
}

type EventCallback = ((event: Event) => void) | { handleEvent(event: Event): void };

declare class EventTarget {
  addEventListener(
    type: string,
    callback: EventCallback | null,
    options?: boolean | { once?: boolean; capture?: boolean; signal?: AbortSignal },
  ): void;
  removeEventListener(type: string, callback: EventCallback | null, options?: boolean | { capture?: boolean }): void;
  dispatchEvent(event: Event): boolean;
}

declare class AbortSignal extends EventTarget {
  private constructor();
  readonly aborted: boolean;
  readonly reason: unknown;
  onabort: ((event: Event) => void) | null;
  throwIfAborted(): void;
  static abort(reason?: unknown): AbortSignal;
  static timeout(delay: number): AbortSignal;
  static any(signals: Iterable<AbortSignal>): AbortSignal;
}

declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

/** A port of a channel. Its messages are copies, and arrive with the timers of the call. */
declare class MessagePort extends EventTarget {
  private constructor();
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage(message: unknown): void;
  start(): void;
  close(): void;
}

declare class MessageEvent extends Event {
  readonly data: unknown;
}

declare class MessageChannel {
  readonly port1: MessagePort;
  readonly port2: MessagePort;
}

declare class Blob {
  constructor(parts?: Iterable<string | ArrayBuffer | ArrayBufferView | Blob>, options?: { type?: string });
  readonly size: number;
  readonly type: string;
  slice(start?: number, end?: number, type?: string): Blob;
  arrayBuffer(): Promise<ArrayBuffer>;
  bytes(): Promise<Uint8Array>;
  text(): Promise<string>;
}

declare class Headers {
  constructor(init?: Record<string, string> | Iterable<readonly [string, string]>);
  append(name: string, value: string): void;
  set(name: string, value: string): void;
  get(name: string): string | null;
  has(name: string): boolean;
  delete(name: string): void;
  getSetCookie(): string[];
  forEach(callback: (value: string, name: string, headers: Headers) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}

declare class URLSearchParams {
  constructor(init?: string | Iterable<[string, string]> | Record<string, string>);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(callback: (value: string, name: string, params: URLSearchParams) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  toString(): string;
}

declare class URL {
  constructor(url: string | URL, base?: string | URL);
  static canParse(url: string | URL, base?: string | URL): boolean;
  static parse(url: string | URL, base?: string | URL): URL | null;
  href: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  readonly origin: string;
  readonly searchParams: URLSearchParams;
  toString(): string;
  toJSON(): string;
}

declare class TextEncoder {
  readonly encoding: "utf-8";
  encode(text?: string): Uint8Array;
  encodeInto(text: string, target: Uint8Array): { read: number; written: number };
}

declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  decode(bytes?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}

declare function atob(text: string): string;
declare function btoa(text: string): string;
declare function structuredClone<Value>(value: Value): Value;

declare class CryptoKey {
  private constructor();
  readonly type: "secret";
  readonly usages: string[];
}

declare const crypto: {
  randomUUID(): string;
  getRandomValues<Values extends ArrayBufferView>(values: Values): Values;
  /** Digests, and HMAC with raw keys. */
  subtle: {
    digest(algorithm: string, data: ArrayBuffer | ArrayBufferView): Promise<ArrayBuffer>;
    importKey(
      format: "raw",
      key: ArrayBuffer | ArrayBufferView,
      algorithm: { name: "HMAC"; hash: string },
      extractable: boolean,
      usages: ("sign" | "verify")[],
    ): Promise<CryptoKey>;
    sign(algorithm: "HMAC", key: CryptoKey, data: ArrayBuffer | ArrayBufferView): Promise<ArrayBuffer>;
    verify(
      algorithm: "HMAC",
      key: CryptoKey,
      signature: ArrayBuffer | ArrayBufferView,
      data: ArrayBuffer | ArrayBufferView,
    ): Promise<boolean>;
  };
};
