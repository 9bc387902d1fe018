import { toObject } from "../../shared/json.ts";
import type { DriverDefinition, OptionsSchema } from "../../plugin.ts";
import type { Drivers } from "../plugins.ts";
import { readSchema } from "./validator.ts";

type Definitions = Record<string, DriverDefinition<unknown>>;

/** The schemas that the configuration's own refers to: that of a mapping, and of its `auth` with a branch for each scheme. */
export function assembleReferences({
  providers,
}: Drivers): [mapping: Record<string, unknown>, auth: Record<string, unknown>] {
  return [withoutDefaults(readSchema("mapping")), assembleAuth(providers)];
}

/** A mapping's defaults are applied when it is compiled. Those of its `auth` are filled in with the configuration's. */
function withoutDefaults(schema: Record<string, unknown>): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema, (key, part: unknown) => (key === "default" ? undefined : part)));
}

/** The schema of `auth`. */
export function assembleAuth(providers: Drivers["providers"]): Record<string, unknown> {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    $id: "hookline/auth.json",
    title: "Auth",
    ...toChoice("providers", "How a sender proves itself.", providers, "scheme"),
  };
}

/** The configuration's schema: the base, a branch for each kind of agent and mail source, and a block for each channel. */
export function assembleSchema({ agents, channels, mailSources }: Drivers): Record<string, unknown> {
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
