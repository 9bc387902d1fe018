import { isObject, toObject } from "../../shared/json.ts";
import type { DriverDefinition, OptionsSchema } from "../../plugin.ts";
import { builtInDrivers, type Drivers, mapDrivers } from "../plugins.ts";
import { BUILT_CHECKS, createCheck, findBuiltCheck, readSchema, type SchemaCheck } from "./validator.ts";

type Schema = Record<string, unknown>;
type Definitions = Record<string, DriverDefinition<unknown>>;

/** The schemas that the configuration's own refers to: that of a mapping, and of its `auth` with a branch for each scheme. */
export function assembleReferences({ providers }: Drivers): [mapping: Schema, auth: Schema] {
  return [withoutDefaults(readSchema("mapping")), assembleAuth(providers)];
}

/** A mapping's defaults are applied when it is compiled. Those of its `auth` are filled in with the configuration's. */
function withoutDefaults(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema, (key, part: unknown) => (key === "default" ? undefined : part)));
}

/** The schema of `auth`. */
export function assembleAuth(providers: Drivers["providers"]): Schema {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    $id: "hookline/auth.json",
    title: "Auth",
    ...toChoice("providers", "How a sender proves itself.", providers, "scheme"),
  };
}

/** The configuration's schema: the base, a branch for each kind of agent and mail source, and a block for each channel. */
export function assembleSchema({ agents, channels, mailSources }: Drivers): Schema {
  const base = readSchema("config.base");
  return {
    ...base,
    definitions: {
      ...toObject(base["definitions"]),
      agent: toChoice("agents", "A provider of models, or another agent.", agents),
      mailSource: toChoice("mailSources", "The mailbox.", mailSources),
      channels: toBlocks(channels),
    },
  };
}

/** One of several blocks, distinguished by `kind` or `scheme`. */
function toChoice(part: string, description: string, definitions: Definitions, key = "kind"): object {
  return {
    type: "object",
    description,
    discriminator: { propertyName: key },
    oneOf: Object.entries(definitions).map(([name, { schema }]) => ({
      ...withId(schema, `${part}/${name}`),
      required: [key, ...toArray(schema["required"])],
      properties: { [key]: { const: name }, ...toObject(schema["properties"]) },
    })),
  };
}

function toBlocks(definitions: Definitions): object {
  const blocks = Object.entries(definitions).map(([name, { schema }]) => [
    name,
    { ...withId(schema, `channels/${name}`), properties: { ...toObject(schema["properties"]), ...CHANNEL_RULES } },
  ]);
  return {
    type: "object",
    additionalProperties: false,
    description: "Messaging channels, one block each.",
    properties: Object.fromEntries(blocks),
  };
}

const CHANNEL_RULES = {
  allow: {
    type: "array",
    items: { type: "string", minLength: 1 },
    description: "Recipients that a payload may choose; * stands for any characters.",
  },
  dryRun: {
    type: "boolean",
    default: false,
    description: "Record deliveries as skipped, with what would have been sent, instead of sending them.",
  },
};

/** With an `$id`, a `$ref` within a driver's schema means the driver's own definitions. */
function withId(schema: OptionsSchema, place: string): OptionsSchema {
  return { ...schema, $id: encodeURI(place) };
}

function toArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Gives the check for values that name no other drivers than `named` does. */
export type DriverCheck = (drivers: Drivers, named: unknown) => SchemaCheck;

/**
 * Prepares a check whose schema has a branch for each driver. At first only the branches of drivers that a value names are
 * compiled: there are about seventy, and to compile them all takes longer than the rest of a start. For a later value that
 * names another driver, all of them are compiled.
 */
export function createDriverCheck(
  name: "config" | "mapping",
  assemble: (drivers: Drivers) => [schema: Schema, ...references: Schema[]],
): DriverCheck {
  const known = new WeakMap<Drivers, { words: Set<string>; check: SchemaCheck }>();
  const builtIn = findBuiltCheck(name);
  return (drivers, named) => {
    if (builtIn && drivers === builtInDrivers) return builtIn;
    const words = new Set(listWords(named).filter((word) => isDriver(drivers, word)));
    const last = known.get(drivers);
    if (last && words.isSubsetOf(last.words)) return last.check;
    const compiled = last ? namesOf(drivers) : words;
    const [schema, ...references] = assemble(withSchemasOf(compiled, drivers));
    const check = createCheck(() => schema, { ...BUILT_CHECKS[name], references });
    known.set(drivers, { words: compiled, check });
    return check;
  };
}

export const configCheck = createDriverCheck("config", (drivers) => [
  assembleSchema(drivers),
  ...assembleReferences(drivers),
]);

/** The defaults of an `auth` are filled in, as in the configuration. */
export const mappingCheck = createDriverCheck("mapping", assembleReferences);

/** All keys and texts within a value. */
function listWords(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(listWords);
  return isObject(value) ? Object.entries(value).flatMap(([key, part]) => [key, ...listWords(part)]) : [];
}

function namesOf(drivers: Drivers): Set<string> {
  return new Set(Object.values(drivers).flatMap((definitions) => Object.keys(definitions)));
}

function isDriver(drivers: Drivers, word: string): boolean {
  return Object.values(drivers).some((definitions) => Object.hasOwn(definitions, word));
}

/** The others keep their names, for the message about an unknown one. */
function withSchemasOf(words: ReadonlySet<string>, drivers: Drivers): Drivers {
  return mapDrivers(drivers, (definitions) =>
    Object.fromEntries(
      Object.entries(definitions).map(([name, definition]) => [
        name,
        words.has(name) ? definition : { ...definition, schema: { type: "object" } },
      ]),
    ),
  );
}
