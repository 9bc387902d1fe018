/** The configuration's schema for editors, in which each preset of the package has a typed `with`. */
import { findPresets, readPreset } from "../src/core/config/presets/file.ts";
import type { Preset } from "../src/core/config/schema/generated.ts";
import { readSchema } from "../src/core/config/schema/validator.ts";
import { readPath, toObject } from "../src/core/shared/json.ts";
import { toParametersSchema } from "../src/core/config/presets/parameters.ts";

export function withPresets(schema: Record<string, unknown>): Record<string, unknown> {
  const copy = structuredClone(schema) as ConfigSchema;
  const presets = findPresets().map((name) => readPreset(name).preset);
  copy.properties.hooks.properties.presets.items = {
    anyOf: [
      { enum: presets.map(({ name }) => name) },
      OWN_FOLDER,
      { ...readUse(), properties: { ...toObject(readUse()["properties"]), use: OWN_FOLDER } },
      ...presets.map((preset) => ({
        type: "object",
        additionalProperties: false,
        required: ["use"],
        description: preset.description,
        properties: {
          use: { const: preset.name, description: preset.description },
          with: { description: `The options of ${preset.name}.`, ...toParameters(preset) },
        },
      })),
    ],
  };
  for (const name of SHARED) copy.definitions[name] = readMappingSchema(name);
  copy.definitions["ignoreRule"] = readPath(readMappingSchema("ignore"), ["items"]);
  return copy;
}

const OWN_FOLDER = {
  type: "string",
  pattern: "^\\.{0,2}/",
  description: "The folder of a preset of your own, which begins with ./, ../ or /.",
};

/** The use of a preset with any options. */
function readUse(): Record<string, unknown> {
  const path = ["properties", "hooks", "properties", "presets", "items", "anyOf", "1"];
  return toObject(readPath(readSchema("config.base"), path));
}

/** Settings whose schemas are written once for all presets. */
const SHARED = ["transform", "coalesce", "rateLimit"];

function readMappingSchema(name: string): unknown {
  return readPath(readSchema("mapping"), ["properties", name]);
}

function toParameters(preset: Preset): object {
  const schema = toParametersSchema(preset);
  const shared = SHARED.map((name) => [name, { $ref: `#/definitions/${name}` }]);
  const items = { $ref: "#/definitions/ignoreRule" };
  const { properties, ...ignore } = toObject(schema.properties["ignore"]);
  const { rules, ...switches } = toObject(properties);
  return {
    ...schema,
    properties: {
      ...schema.properties,
      ...Object.fromEntries(shared),
      ignore: { ...ignore, items, properties: { ...switches, rules: { ...toObject(rules), items } } },
    },
  };
}

type ConfigSchema = Record<string, unknown> & {
  definitions: Record<string, unknown>;
  properties: { hooks: { properties: { presets: { items: unknown } } } };
};
