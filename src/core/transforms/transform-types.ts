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

declare const EVENT: unique symbol;

/** The payloads of some events of a preset. Each type bears the name of its event. */
export type PresetPayload<Events, Name extends keyof Events> = {
  [Each in Name]: Events[Each] & { readonly [EVENT]?: Each };
}[Name];

type EventOf<Payload> = typeof EVENT extends keyof Payload ? NonNullable<Payload[typeof EVENT]> : string | undefined;
