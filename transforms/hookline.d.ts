// The types of a Hookline transform. Generated: `npx hookline types` writes it anew.

declare module "hookline" {
  /**
   * The result of a transform. Its fields override those of the mapping's templates; null clears a field.
   */
  export interface ActionOverride {
    /**
     * Default: the mapping's action.
     */
    kind?: "wake" | "agent" | null;
    /**
     * The wake's text.
     */
    text?: string | null;
    /**
     * now: start a heartbeat at once. next-heartbeat: wait for the next periodic one. wakeMode means the same.
     */
    mode?: "now" | "next-heartbeat" | null;
    /**
     * The agent's message.
     */
    message?: string | null;
    /**
     * Prefix of the summary.
     */
    name?: string | null;
    /**
     * The agent's session.
     */
    sessionKey?: string | null;
    /**
     * now: start a heartbeat at once. next-heartbeat: wait for the next periodic one. mode means the same.
     */
    wakeMode?: "now" | "next-heartbeat" | null;
    /**
     * Send the reply to the messaging channel. A list names targets of the mapping's deliver; [] is false.
     */
    deliver?: boolean | string[] | null;
    /**
     * Channel of the reply: the name of a configured channel, last or source.
     */
    channel?: string | null;
    /**
     * Recipient on the channel.
     */
    to?: string | null;
    /**
     * Model override. It must be on agents.defaults.models if that is set.
     */
    model?: string | null;
    /**
     * Thinking-level override.
     */
    thinking?: string | null;
    /**
     * With hooks.compat: the gateway's agent.
     */
    agentId?: string | null;
    /**
     * With hooks.compat: the channel's account.
     */
    accountId?: string | null;
    /**
     * With hooks.compat: isolated: the run starts without what was said before in its session.
     */
    sessionMode?: "isolated" | "persistent" | null;
    /**
     * null: the turn may call nothing. A transform cannot grant anything.
     */
    grants?: null;
    /**
     * Maximum duration of the run, in seconds.
     */
    timeoutSeconds?: number | null;
    /**
     * false enables the safety boundary. true is refused unless the mapping has it.
     */
    allowUnsafeExternalContent?: boolean | null;
  }

  /** A transform's argument. Everything in `payload`, `headers`, `query` and `item` comes from outside. */
  export interface TransformInput<Payload = unknown, Item = unknown> {
    /** The parsed body; under `forEach` with `forEachNarrows`, its array holds only the item. */
    payload: Payload;
    /** The body as text. */
    rawBody: string;
    /** Names in lower case; credentials are removed. */
    headers: Record<string, string>;
    query: Record<string, string>;
    path: string;
    method: string;
    /** The name of the hook: what follows the hooks path in the address. */
    hook: string;
    /** The id of the mapping that calls the transform. */
    mapping: string;
    /** The sender's name of the event, by the `event` of the mapping or preset; undefined: it has none. */
    event: EventOf<Payload>;
    /** When the request arrived, in ISO 8601; `new Date()` gives the same time. */
    now: string;
    /** The action that the mapping's templates give. */
    base: TransformAction;
    /** The mapping's own secrets, by name. */
    secrets: Record<string, string>;
    /** The item of this call if the mapping has `forEach`, else undefined. */
    item: Item;
    /** The position of the item, from 0. */
    index?: number;
    /** Values that stay from one request to the next, if the mapping has `state`, else undefined. */
    state: TransformState;
  }

  /** Values by key, which all requests of a mapping share. */
  export interface TransformState {
    /**
     * The value, or undefined without one. A key that was not read yet ends the call: it is read, and the call runs again, so
     * do not catch what `get` throws. A call can read eight keys.
     */
    get(key: string): unknown;
    /**
     * Keeps a value that JSON has, of at most 16 KB, or removes the key if it is undefined. It counts once the event is
     * committed. `ttl`: how long it is kept, as `"10m"` or `"24h"` or in seconds; without it, until it is removed.
     */
    set(key: string, value: unknown, options?: { ttl?: string | number }): void;
  }

  /** The names of the configuration, which `hookline.d.ts` beside the transforms adds. Empty without that file. */
  export interface Register {}

  type ChannelName = Register extends { channels: infer Name } ? Name | "last" | "source" : string;
  type ModelName = Register extends { models: infer Name } ? Name : string;
  type ModuleName = Exclude<keyof Register, "channels" | "models">;
  /** The targets of all modules, so that a function of any module may be annotated with `TransformResult`. */
  type TargetName = [ModuleName] extends [never] ? string : TargetsOf<Register[ModuleName]>;
  type TargetsOf<Facts> = Facts extends ModuleFacts ? Facts["targets"] : never;

  /** An action that a transform returns, with the channels, models and targets that `hookline.d.ts` has. */
  export interface TransformAction extends Omit<ActionOverride, "deliver" | "channel" | "model"> {
    /** Send the reply to the messaging channel. A list names targets of the mapping's deliver; [] is false. */
    deliver?: boolean | TargetName[] | null;
    /** Channel of the reply: the name of a configured channel, last or source. */
    channel?: ChannelName | null;
    /** Model override. It must be on agents.defaults.models if that is set. */
    model?: ModelName | null;
  }

  /** Fields over the base, several actions, `null` to skip, `undefined` to keep the base. */
  export type TransformResult = TransformAction | (TransformAction | null)[] | null | undefined | void;

  /**
   * The function that a transform module exports as `default` or `transform`. `Item` is for a mapping with `forEach`.
   * Annotate the function's result with `TransformResult`, so that the compiler finds misspelled fields.
   */
  export type Transform<Payload = unknown, Item = unknown> = (
    input: InputOf<Payload, Item>,
  ) => TransformResult | Promise<TransformResult>;

  /** Several payloads have one input each, so that `event` tells them apart. */
  type InputOf<Payload, Item> = Payload extends unknown ? TransformInput<Payload, Item> : never;

  /**
   * The function of a module that the configuration calls, as `Module<"ci.ts">`: with the payload, mappings, hooks and secrets that
   * `hookline.d.ts` has for it, and with `state` if all of its mappings have one.
   */
  export type Module<Name extends ModuleName, Item = unknown> = ModuleFunction<Register[Name], Item>;

  /** An entry of `hookline.d.ts`. */
  interface ModuleFacts {
    mappings: string;
    hooks: string;
    targets: string;
    secrets: object;
    state: boolean;
    payload: unknown;
  }

  type ModuleFunction<Facts, Item> = Facts extends ModuleFacts
    ? (input: ModuleInputOf<Facts["payload"], Item, Facts>) => TransformResult | Promise<TransformResult>
    : Transform<unknown, Item>;

  type ModuleInputOf<Payload, Item, Facts extends ModuleFacts> = Payload extends unknown
    ? ModuleInput<Payload, Item, Facts> & (Facts["state"] extends true ? Pick<TransformInput, "state"> : unknown)
    : never;

  interface ModuleInput<Payload, Item, Facts extends ModuleFacts> extends Omit<
    TransformInput<Payload, Item>,
    "hook" | "mapping" | "secrets" | "state"
  > {
    /** The name of the hook: what follows the hooks path in the address. */
    hook: Facts["hooks"];
    /** The id of the mapping that calls the transform. */
    mapping: Facts["mappings"];
    /** The mapping's own secrets, by name. */
    secrets: Facts["secrets"];
  }

  /**
   * A payload without the fields that its type does not name: a misspelled one is an error, and so is one that senders send but
   * no sample has.
   */
  export type Known<Payload> = Payload extends readonly (infer Item)[]
    ? Known<Item>[]
    : Payload extends object
      ? KnownFields<Payload>
      : Payload;

  /** An object of which nothing is known stays open. */
  type KnownFields<Fields> = [Extract<keyof Named<Fields>, string>] extends [never]
    ? Fields
    : { [Name in keyof Named<Fields>]: Known<Named<Fields>[Name]> };

  type Named<Fields> = {
    [Name in keyof Fields as string extends Name ? never : number extends Name ? never : Name]: Fields[Name];
  };

  const EVENT: unique symbol;

  /** The payloads of some events of a preset. Each type bears the name of its event. */
  export type PresetPayload<Events, Name extends keyof Events> = {
    [Each in Name]: Events[Each] & { readonly [EVENT]?: Each };
  }[Name];

  type EventOf<Payload> = typeof EVENT extends keyof Payload ? NonNullable<Payload[typeof EVENT]> : string | undefined;
}

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
