import { isObject } from "../is-object.ts";
import type { Plugin } from "./plugin.ts";

type Schema = Record<string, unknown>;

/** The configuration's schema with the blocks that plugins bring. */
export function extendSchema(schema: Schema, plugins: Plugin[]): Schema {
  const extended = structuredClone(schema);
  const channels = partOf(extended, "properties", "channels", "properties");
  for (const plugin of plugins) Object.assign(channels, toChannelSchemas(plugin));
  // Of rivals, which are a problem of their own, the last: each kind can be in a schema only once.
  const agents = [...new Map(plugins.flatMap((plugin) => Object.entries(plugin.agents ?? {})))];
  const definitions = partOf(extended, "definitions");
  definitions["provider"] = agents.reduce(
    (otherwise, [kind, agent]) => toChoice(kind, agent.schema, otherwise),
    withKinds(
      partOf(definitions, "provider"),
      agents.map(([kind]) => kind),
    ),
  );
  return extended;
}

function toChannelSchemas({ channels = {} }: Plugin): Schema {
  return Object.fromEntries(
    Object.entries(channels).map(([name, { schema }]) => [name, named(`channels/${name}`, schema)]),
  );
}

/** So that the sentence about an unknown kind names those of plugins too. */
function withKinds(provider: Schema, kinds: string[]): Schema {
  const kind = partOf(provider, "properties", "kind");
  kind["enum"] = [...new Set([kind["enum"], kinds].flat())];
  return provider;
}

function toChoice(kind: string, schema: Schema, otherwise: Schema): Schema {
  const own = isObject(schema["properties"]) ? schema["properties"] : {};
  const mine = named(`agents/${encodeURIComponent(kind)}`, {
    ...schema,
    properties: { ...own, kind: { const: kind } },
  });
  const isMine = { required: ["kind"], properties: { kind: { const: kind } } };
  return {
    allOf: [
      { if: isMine, else: otherwise },
      { if: { not: isMine }, else: mine },
    ],
  };
}

/** With an `$id`, a `$ref` within a plugin's schema means the plugin's own definitions. */
function named(place: string, schema: Schema): Schema {
  return { ...schema, $id: `hookline/plugins/${place}` };
}

function partOf(schema: Schema, ...keys: string[]): Schema {
  return keys.reduce((part, key) => {
    const next = part[key];
    if (!isObject(next)) throw new Error(`the configuration's schema has no ${keys.join(".")}`);
    return next;
  }, schema);
}
