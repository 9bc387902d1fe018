/** The configuration's schema for editors and the reference: the base, with that of each driver's block in its place. */
import { ACCOUNT_NAME } from "../src/core/shared/channel-names.ts";
import { RULES } from "../src/core/config/schema/blocks.ts";
import { readSchema } from "../src/core/config/schema/validator.ts";
import type { DriverPart, Drivers } from "../src/core/config/plugins.ts";
import type { DriverDefinition, OptionsSchema } from "../src/core/ports/driver.ts";
import { toObject } from "../src/core/shared/json.ts";

type Schema = Record<string, unknown>;
type Definitions = Record<string, DriverDefinition<unknown>>;

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
export function assembleSchema({ agents, channels, mailSources, tools }: Drivers): Schema {
  const base = readSchema("config.base");
  return {
    ...base,
    definitions: {
      ...toObject(base["definitions"]),
      agent: toChoice("agents", "A provider of models, or another agent.", agents),
      toolSet: toChoice("tools", "A group of calls.", tools),
      mailSource: toChoice("mailSources", "The mailbox.", mailSources),
      channels: toBlocks(channels),
    },
  };
}

const KEYS = { kind: "The kind of thing that this block configures.", scheme: "How the sender proves itself." };

/** One of several blocks, distinguished by `kind` or `scheme`. */
function toChoice(
  part: DriverPart,
  description: string,
  definitions: Definitions,
  key: keyof typeof KEYS = "kind",
): object {
  return {
    type: "object",
    description,
    discriminator: { propertyName: key },
    oneOf: Object.entries(definitions).map(([name, { schema }]) => ({
      ...withId(schema, `${part}/${name}`),
      required: [key, ...toArray(schema["required"])],
      properties: { [key]: { const: name, description: KEYS[key] }, ...toObject(schema["properties"]), ...RULES[part] },
    })),
  };
}

function toBlocks(definitions: Definitions): object {
  const blocks = Object.entries(definitions).map(([name, { schema }]) => [
    name,
    {
      description: `The channel ${name}.`,
      ...withId(schema, `channels/${name}`),
      properties: { ...toObject(schema["properties"]), ...RULES.channels },
    },
  ]);
  return {
    type: "object",
    additionalProperties: false,
    description: "Messaging channels, one block each. Several accounts of one have blocks such as slack:eu.",
    properties: Object.fromEntries(blocks),
    patternProperties: Object.fromEntries(
      Object.keys(definitions).map((name) => [
        `^${name}:${ACCOUNT_NAME}$`,
        { $ref: `#/definitions/channels/properties/${name}` },
      ]),
    ),
  };
}

/** With an `$id`, a `$ref` within a driver's schema means the driver's own definitions. */
function withId(schema: OptionsSchema, place: string): OptionsSchema {
  return { ...schema, $id: encodeURI(place) };
}

function toArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
