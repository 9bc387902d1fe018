/** The configuration's schema for editors, in which each preset of the package has a typed `with`. */
import { findPresets, readPreset } from "../src/config/presets/file.ts";
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
        properties: { use: { const: preset.name }, with: toParametersSchema(preset) },
      })),
    ],
  };
  return copy;
}

type ConfigSchema = Record<string, unknown> & {
  properties: { hooks: { properties: { presets: { items: unknown } } } };
};
