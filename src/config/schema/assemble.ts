import { isObject } from "../../shared/json.ts";
import type { DriverDefinition, OptionsSchema } from "../../plugin.ts";
import type { Drivers } from "../plugins.ts";
import { readSchema } from "./validator.ts";

type Definitions = Record<string, DriverDefinition<unknown>>;

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

/** One of several blocks, told apart by `kind`. */
function toChoice(part: string, description: string, definitions: Definitions): object {
  return {
    type: "object",
    description,
    discriminator: { propertyName: "kind" },
    oneOf: Object.entries(definitions).map(([kind, { schema }]) => ({
      ...withId(schema, `${part}/${kind}`),
      required: ["kind", ...toArray(schema["required"])],
      properties: { kind: { const: kind }, ...toObject(schema["properties"]) },
    })),
  };
}

function toBlocks(definitions: Definitions): object {
  const blocks = Object.entries(definitions).map(([name, { schema }]) => [name, withId(schema, `channels/${name}`)]);
  return {
    type: "object",
    additionalProperties: false,
    description: "Messaging channels, one block each.",
    properties: Object.fromEntries(blocks),
  };
}

/** With an `$id`, a `$ref` within a driver's schema means the driver's own definitions. */
function withId(schema: OptionsSchema, place: string): OptionsSchema {
  return { ...schema, $id: encodeURI(place) };
}

function toObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

function toArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
