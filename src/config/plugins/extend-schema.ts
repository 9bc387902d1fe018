import { isObject } from "../../shared/json.ts";
import type { Plugin } from "../../plugin.ts";

type Schema = Record<string, unknown>;

/** The configuration's schema with the blocks that plugins bring. */
export function extendSchema(schema: Schema, plugins: Plugin[]): Schema {
  const extended = structuredClone(schema);
  const channels = partOf(extended, "properties", "channels", "properties");
  for (const plugin of plugins) Object.assign(channels, toChannelSchemas(plugin));
  const definitions = partOf(extended, "definitions");
  const agents = plugins.flatMap((plugin) => Object.entries(plugin.agents ?? {}));
  const mailSources = plugins.flatMap((plugin) => Object.entries(plugin.mailSources ?? {}));
  definitions["provider"] = withChoices(partOf(definitions, "provider"), "agents", agents);
  definitions["mailbox"] = withChoices(partOf(definitions, "mailbox"), "mailSources", mailSources);
  return extended;
}

type Brought = [kind: string, driver: { schema: Schema }][];

/** What is of a kind that plugins bring is checked by their schemas, the rest as before. `part` is the plugins'. */
function withChoices(own: Schema, part: string, brought: Brought): Schema {
  // Of rivals, which are a problem of their own, the last: each kind can be in a schema only once.
  const drivers = [...new Map(brought)];
  const kinds = drivers.map(([kind]) => kind);
  return drivers.reduce(
    (otherwise, [kind, { schema }]) => toChoice(kind, { part, schema, otherwise }),
    withKinds(own, kinds),
  );
}

function toChannelSchemas({ channels = {} }: Plugin): Schema {
  return Object.fromEntries(
    Object.entries(channels).map(([name, { schema }]) => [name, named(`channels/${name}`, schema)]),
  );
}

/** So that the sentence about an unknown kind names those of plugins too. */
function withKinds(own: Schema, kinds: string[]): Schema {
  const kind = partOf(own, "properties", "kind");
  kind["enum"] = [...new Set([kind["enum"], kinds].flat())];
  return own;
}

interface Choice {
  part: string;
  schema: Schema;
  otherwise: Schema;
}

function toChoice(kind: string, { part, schema, otherwise }: Choice): Schema {
  const own = isObject(schema["properties"]) ? schema["properties"] : {};
  const mine = named(`${part}/${encodeURIComponent(kind)}`, {
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

/** The part of the configuration's schema at these keys, itself and not a copy. */
export function partOf(schema: Record<string, unknown>, ...keys: string[]): Record<string, unknown> {
  return keys.reduce((part, key) => {
    const next = part[key];
    if (!isObject(next)) throw new Error(`the configuration's schema has no ${keys.join(".")}`);
    return next;
  }, schema);
}
