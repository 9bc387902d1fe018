/** The configuration's schema for editors, in which each preset of the package has a typed `with`. */
import { findPresets, readPreset } from "../src/config/presets/file.ts";
import type { Preset } from "../src/config/schema/generated.ts";
import { readSchema } from "../src/config/schema/validator.ts";
import { readPath } from "../src/shared/json.ts";
import { toParametersSchema } from "../src/config/presets/parameters.ts";

export function withPresets(schema: Record<string, unknown>): Record<string, unknown> {
  const copy = structuredClone(schema) as ConfigSchema;
  const presets = findPresets().map((name) => readPreset(name).preset);
  copy.properties.hooks.properties.presets.items = {
    anyOf: [
      { enum: presets.map(({ name }) => name) },
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
  copy.definitions["transform"] = readPath(readSchema("mapping"), ["properties", "transform"]);
  return copy;
}

/** The schema of a transform is written once. */
function toParameters(preset: Preset): object {
  const schema = toParametersSchema(preset);
  return { ...schema, properties: { ...schema.properties, transform: { $ref: "#/definitions/transform" } } };
}

type ConfigSchema = Record<string, unknown> & {
  definitions: Record<string, unknown>;
  properties: { hooks: { properties: { presets: { items: unknown } } } };
};
