import type { Violation } from "./violation.ts";

/**
 * What a violation asks of the field, without the field's name: `must be a string, not a number`. The
 * validator's own messages speak of the schema alone, never of the value: they stand for all that is not
 * worded here.
 */
export function toRule(violation: Violation, value: unknown): string {
  const { keyword, params, parentSchema } = violation;
  switch (keyword) {
    case "type":
      return `must be ${listTypes(params["type"])}, not ${typeName(value)}`;
    case "required":
      return "is required";
    case "enum":
      return `must be one of ${[params["allowedValues"]]
        .flat()
        .map((allowed) => JSON.stringify(allowed))
        .join(", ")}`;
    case "pattern":
      return toPatternRule(String(params["pattern"]), parentSchema?.["description"]);
    case "minLength":
    case "minItems":
      return params["limit"] === 1 ? "must not be empty" : toOwnWords(violation);
    case "additionalProperties":
    case "unevaluatedProperties":
      return "is not allowed";
    case "anyOf":
    case "oneOf":
      return "fits none of the forms that are allowed";
    default:
      return toOwnWords(violation);
  }
}

function toOwnWords({ keyword, message }: Violation): string {
  return message ?? `fails ${keyword}`;
}

function toPatternRule(pattern: string, description: unknown): string {
  if (pattern === "\\S") return "must not be blank";
  const hint = typeof description === "string" ? ` (${description.replace(/\.$/, "")})` : "";
  return `must match ${pattern}${hint}`;
}

function listTypes(types: unknown): string {
  return [types]
    .flat()
    .map((type) => TYPE_NAMES[String(type)] ?? String(type))
    .join(" or ");
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (value === Infinity || value === -Infinity) return "one that is too large";
  if (typeof value === "number" && !Number.isInteger(value)) return "a fraction";
  return Array.isArray(value) ? "an array" : (TYPE_NAMES[typeof value] ?? typeof value);
}

const TYPE_NAMES: Record<string, string> = {
  string: "a string",
  number: "a number",
  integer: "a whole number",
  boolean: "a boolean",
  object: "an object",
  array: "an array",
  null: "null",
};
