import { readPath } from "../../shared/json.ts";
import { didYouMean } from "../../shared/text/text.ts";
import { ANY_REQUIRED, type Violation } from "./violations.ts";

/**
 * The rule for the field, without its name: `must be a string, not a number`. Other keywords have ajv's own messages,
 * which contain no values.
 */
export function toRule(violation: Violation, value: unknown): string {
  const { keyword, params, parentSchema, message: other = `fails ${keyword}` } = violation;
  const bound = BOUNDS.get(keyword);
  if (bound) return toLimitRule(bound, params["limit"]);
  switch (keyword) {
    case "type":
      return `must be ${listTypes(params["type"])}, not ${typeName(value)}`;
    case "required":
      return "is required";
    case "enum":
      return toEnumRule([params["allowedValues"]].flat(), value);
    case "pattern":
      return toPatternRule(String(params["pattern"]), parentSchema?.["description"]);
    case "not":
      return "must not match the schema of not";
    case "additionalProperties":
    case "unevaluatedProperties":
      return "is not allowed";
    case "contains": {
      const item = readPath(parentSchema, ["contains", "const"]);
      return item === undefined ? other : `must contain ${JSON.stringify(item)}`;
    }
    case "anyOf":
    case "oneOf":
      return "matches none of the allowed forms";
    case ANY_REQUIRED:
      return `must have one of ${[params["names"]].flat().join(", ")}`;
    default:
      return other;
  }
}

const BOUNDS = new Map<string, [relation: string, unit?: string]>([
  ["minLength", ["have at least", "character"]],
  ["maxLength", ["have at most", "character"]],
  ["minItems", ["have at least", "item"]],
  ["maxItems", ["have at most", "item"]],
  ["minimum", ["be at least"]],
  ["maximum", ["be at most"]],
  ["exclusiveMinimum", ["be more than"]],
  ["exclusiveMaximum", ["be less than"]],
]);

function toLimitRule([relation, unit]: [relation: string, unit?: string], limit: unknown): string {
  if (relation === "have at least" && limit === 1) return "must not be empty";
  const counted = unit === undefined ? "" : ` ${unit}${limit === 1 ? "" : "s"}`;
  return `must ${relation} ${String(limit)}${counted}`;
}

/** Lists are short, vocabularies are not; there the nearest word helps more. */
const MAX_LISTED = 12;

/** The rule of a field that must be one of these words. */
export function toEnumRule(allowed: unknown[], value: unknown): string {
  const words = allowed.map(String);
  if (words.length > MAX_LISTED && typeof value === "string")
    return `is unknown${didYouMean(value, words, `; known here: ${words.join(", ")}`)}`;
  return `must be one of ${allowed.map((word) => JSON.stringify(word)).join(", ")}`;
}

const DURATION = "must be a number and its unit, such as 500ms, 30s, 5m, 24h or 7d";

/** In words, for people who do not read expressions. */
const PATTERNS: Record<string, string> = {
  "\\S": "must not be blank",
  "^https?://": "must begin with http:// or https://",
  "^https?://[^\\s/?#]+(/[^\\s?#]*)?$": "must be an address such as https://hooks.example.com, without ? and #",
  "^\\d+(ms|s|m|h|d)$": DURATION,
  "^[1-9]\\d*(ms|s|m|h|d)$": DURATION,
  "^(?!(?:true|false)$)[^\\u0000-\\u001f\\u007f]*$":
    "must be a name of up to 127 characters, without control characters, which is not true or false",
  "^(now|next-heartbeat)$|\\{\\{": 'must be "now", "next-heartbeat" or a template of one of them',
};

function toPatternRule(pattern: string, description: unknown): string {
  const known = Object.hasOwn(PATTERNS, pattern) ? PATTERNS[pattern] : undefined;
  if (known !== undefined) return known;
  if (typeof description !== "string") return `must match ${pattern}`;
  return `does not have the expected form (${description.replace(/\.$/, "")})`;
}

/** The same for the name of a field. */
export function toNameRule({ keyword, params, parentSchema }: Violation): string {
  const description = parentSchema?.["description"];
  if (typeof description === "string") return `must have another name (${description.replace(/\.$/, "")})`;
  return keyword === "pattern"
    ? `must have a name that matches ${String(params["pattern"])}`
    : "must have another name";
}

/** `a number or a boolean` */
export function listTypes(types: unknown): string {
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
