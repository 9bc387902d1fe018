/** The schemas for editors allow a reference where a configuration needs another type than text. */
import { readSchema } from "../src/core/config/schema/validator.ts";
import { isObject, toObject, toText } from "../src/core/shared/json.ts";

type Schema = Record<string, unknown>;

/** A text that is one reference, as `typed-references.ts` takes it. */
const REFERENCE = "^\\$\\{(?:[A-Za-z_]\\w*(?::-[^}]*)?|file:[^}]+)\\}$";
/** Types that a reference can have. */
const TYPED = ["integer", "number", "boolean"];
/** Keywords with a schema for each name. */
const NAMED = ["properties", "patternProperties", "definitions"];
const LISTS = ["anyOf", "oneOf", "allOf"];
const SINGLE = ["items", "additionalProperties"];

/** With the mapping's schema in it, since that is the program's own beside it. */
export function withReferences(config: Schema): Schema {
  const { $schema: _schema, $id: _id, definitions, ...mapping } = readSchema("mapping");
  const whole = { ...config, definitions: { ...toObject(config["definitions"]), ...toObject(definitions), mapping } };
  const text = JSON.stringify(whole)
    .replaceAll('"mapping.json"', '"#/definitions/mapping"')
    .replaceAll('"mapping.json#/', '"#/definitions/mapping/');
  return allowReferences(JSON.parse(text));
}

export function allowReferences<Part>(part: Part): Part {
  if (!isObject(part)) return part;
  const entries = Object.entries(part).map(([key, value]) => {
    if (NAMED.includes(key)) {
      return [
        key,
        Object.fromEntries(Object.entries(toObject(value)).map(([name, child]) => [name, allowReferences(child)])),
      ];
    }
    if (LISTS.includes(key) && Array.isArray(value)) return [key, value.map(allowReferences)];
    return [key, SINGLE.includes(key) ? allowReferences(value) : value];
  });
  const changed = Object.fromEntries(entries);
  const types = [part["type"] ?? []].flat().map(toText);
  const isTyped = types.some((type) => TYPED.includes(type)) || (types.length === 1 && types[0] === "array");
  if (!isTyped || types.includes("string")) return changed;
  return { ...changed, type: [...types, "string"], pattern: REFERENCE };
}
