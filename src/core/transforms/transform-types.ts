import type { ActionOverride } from "../config/schema/generated.ts";

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
  base: ActionOverride;
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

/** Fields over the base, several actions, `null` to skip, `undefined` to keep the base. */
export type TransformResult = ActionOverride | (ActionOverride | null)[] | null | undefined | void;

/**
 * The function that a transform module exports as `default` or `transform`. `Item` is for a mapping with `forEach`.
 * Annotate the function's result with `TransformResult`, so that the compiler finds misspelled fields.
 */
export type Transform<Payload = unknown, Item = unknown> = (
  input: InputOf<Payload, Item>,
) => TransformResult | Promise<TransformResult>;

/** Several payloads have one input each, so that `event` tells them apart. */
type InputOf<Payload, Item> = Payload extends unknown ? TransformInput<Payload, Item> : never;

declare const EVENT: unique symbol;

/** The payloads of some events of a preset. Each type bears the name of its event. */
export type PresetPayload<Events, Name extends keyof Events> = {
  [Each in Name]: Events[Each] & { readonly [EVENT]?: Each };
}[Name];

type EventOf<Payload> = typeof EVENT extends keyof Payload ? NonNullable<Payload[typeof EVENT]> : string | undefined;
