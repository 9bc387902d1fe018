import leven from "leven";
import type { ConfigProblem } from "../../errors.ts";
import { readOwn, readPath, type Segment, toKeyPath } from "../../shared/json.ts";

/** Keywords that report a field that the schema does not know. */
const UNKNOWN_FIELD = ["additionalProperties", "unevaluatedProperties"];

/** One way in which a value does not fit its schema. */
export interface SchemaProblem {
  /** Dotted path of the field, `messages[0].from`, also of a missing one; empty: the value itself. */
  path: string;
  /** The path in steps. */
  segments: Segment[];
  /** The rule without the field's name: `must be a string, not a number`. */
  rule: string;
  /**
   * Field and rule as one sentence. Safe to show to the sender: it contains no value, and only field names of letters,
   * digits, `_`, `$` and `-`.
   */
  message: string;
  /** For a field that the schema does not know: its name, and the known names. */
  unknown?: { name: string; known: string[] };
}

/** A schema's problem as the operator sees it. */
export function toConfigProblem({ path, rule, unknown }: SchemaProblem): ConfigProblem {
  if (unknown) return { key: path, message: `unknown key "${unknown.name}"${didYouMean(unknown.name, unknown.known)}` };
  return path === "" ? { message: `The configuration ${rule}` } : { key: path, message: rule };
}

/**
 * The end of a sentence about an unknown name: `; did you mean "token"?`. If no known name is similar, `otherwise`: by
 * default a list of them all.
 */
export function didYouMean(name: string, known: readonly string[], otherwise = listKnown(known)): string {
  if (name.length > MAX_WORD) return otherwise;
  const [nearest] = known
    .map((candidate) => ({ candidate, distance: countErrors(name.toLowerCase(), candidate.toLowerCase()) }))
    .toSorted((one, other) => one.distance - other.distance);
  if (nearest === undefined || nearest.distance > maxDistance(nearest.candidate)) return otherwise;
  return `; did you mean "${nearest.candidate}"?`;
}

/** Comparing a longer text would take too long. */
const MAX_WORD = 64;

/** Two letters in the wrong order are one typing error. */
function countErrors(name: string, candidate: string): number {
  const swapped = Array.from(
    name.slice(1),
    (letter, index) => name.slice(0, index) + letter + name[index] + name.slice(index + 2),
  );
  return Math.min(leven(name, candidate), ...swapped.map((text) => 1 + leven(text, candidate)));
}

/** Two typing errors, or half of a longer name: `transforms` for `transformsDir`. */
function maxDistance(candidate: string): number {
  return Math.max(2, Math.floor(candidate.length / 2));
}

function listKnown(known: readonly string[]): string {
  return known.length === 0 ? "" : `; known here: ${known.join(", ")}`;
}

/** A failed keyword as a sentence about the value at its place. */
export function toSchemaProblem(violation: Violation, root: unknown, subject: string): SchemaProblem {
  const { segments, value } = follow(violation.instancePath, root);
  const name = namedField(violation);
  const place = name === undefined ? segments : [...segments, name];
  const rule = toRule(violation, value);
  const isUnknown = UNKNOWN_FIELD.includes(violation.keyword);
  const subjectPath = toKeyPath(plainStart(isUnknown ? segments : place));
  return {
    path: toKeyPath(place),
    segments: place,
    rule,
    message: `${subjectPath || subject} ${isUnknown ? "contains a field that is not allowed" : rule}`,
    ...(isUnknown && {
      unknown: { name: String(name), known: Object.keys(violation.parentSchema?.["properties"] ?? {}) },
    }),
  };
}

/** Walks a JSON pointer, so that an array's index can be distinguished from an object's key. */
function follow(pointer: string, root: unknown): { segments: Segment[]; value: unknown } {
  const segments: Segment[] = [];
  let value = root;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    segments.push(Array.isArray(value) ? Number(key) : key);
    value = readOwn(value, key);
  }
  return { segments, value };
}

/** The field that is missing, unknown or selects a branch: its violation is reported on the object. */
function namedField({ keyword, params }: Violation): string | undefined {
  const name =
    keyword === "required"
      ? params["missingProperty"]
      : (params["additionalProperty"] ?? params["unevaluatedProperty"] ?? params["tag"]);
  return typeof name === "string" ? name : undefined;
}

/** The sender chooses the names in an open object, so unusual ones are not repeated. */
function plainStart(segments: Segment[]): Segment[] {
  const odd = segments.findIndex((segment) => typeof segment === "string" && !/^[\w$-]{1,64}$/.test(segment));
  return odd === -1 ? segments : segments.slice(0, odd);
}

/**
 * What the field must be, without its name: `must be a string, not a number`. Other keywords have ajv's own messages, which
 * contain no values.
 */
function toRule(violation: Violation, value: unknown): string {
  const { keyword, params, parentSchema, message: other = `fails ${keyword}` } = violation;
  switch (keyword) {
    case "type":
      return `must be ${listTypes(params["type"])}, not ${typeName(value)}`;
    case "required":
      return "is required";
    case "enum":
      return toEnumRule([params["allowedValues"]].flat(), value);
    case "pattern":
      return toPatternRule(String(params["pattern"]), parentSchema?.["description"]);
    case "minLength":
    case "minItems":
      return params["limit"] === 1 ? "must not be empty" : toLimitRule(keyword, params["limit"]);
    case "maxLength":
    case "maxItems":
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
    case "exclusiveMaximum":
      return toLimitRule(keyword, params["limit"]);
    case "not":
      return "must not match the schema of not";
    case "additionalProperties":
    case "unevaluatedProperties":
      return "is not allowed";
    case "discriminator":
      return toEnumRule(branchesOf(violation), params["tagValue"]);
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

const LIMITS = {
  minLength: ["have at least", "character"],
  maxLength: ["have at most", "character"],
  minItems: ["have at least", "item"],
  maxItems: ["have at most", "item"],
  minimum: ["be at least"],
  maximum: ["be at most"],
  exclusiveMinimum: ["be more than"],
  exclusiveMaximum: ["be less than"],
} as const;

function toLimitRule(keyword: keyof typeof LIMITS, limit: unknown): string {
  const [relation, unit] = LIMITS[keyword];
  const counted = unit === undefined ? "" : ` ${unit}${limit === 1 ? "" : "s"}`;
  return `must ${relation} ${String(limit)}${counted}`;
}

/** Lists are short, vocabularies are not; there the nearest word helps more. */
const MAX_LISTED = 12;

function toEnumRule(allowed: unknown[], value: unknown): string {
  const words = allowed.map(String);
  const isWord = typeof value === "string" && value.length <= MAX_WORD;
  if (words.length > MAX_LISTED && isWord) return `is unknown${didYouMean(value, words)}`;
  return `must be one of ${allowed.map((word) => JSON.stringify(word)).join(", ")}`;
}

/** The values of the field that selects a branch. */
function branchesOf({ params, parentSchema }: Violation): unknown[] {
  const tag = String(params["tag"]);
  return [parentSchema?.["oneOf"]].flat().map((branch) => readPath(branch, ["properties", tag, "const"]));
}

const DURATION = "must be a number and its unit, such as 500ms, 30s, 5m, 24h or 7d";

/** In words, for people who do not read expressions. */
const PATTERNS: Record<string, string> = {
  "\\S": "must not be blank",
  "^https?://": "must begin with http:// or https://",
  "^https?://[^\\s/?#]+(/[^\\s?#]*)?$": "must be an address such as https://hooks.example.com, without ? and #",
  "^\\d+(ms|s|m|h|d)$": DURATION,
  "^[1-9]\\d*(ms|s|m|h|d)$": DURATION,
};

function toPatternRule(pattern: string, description: unknown): string {
  const known = Object.hasOwn(PATTERNS, pattern) ? PATTERNS[pattern] : undefined;
  if (known !== undefined) return known;
  if (typeof description !== "string") return `must match ${pattern}`;
  return `does not have the expected form (${description.replace(/\.$/, "")})`;
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

/** A failed keyword, as ajv reports it. */
export interface Violation {
  keyword: string;
  /** JSON pointer into the value. */
  instancePath: string;
  schemaPath: string;
  params: Record<string, unknown>;
  message?: string;
  /** The schema that contains the keyword. */
  parentSchema?: Record<string, unknown>;
}

/**
 * Leaves out errors that only repeat others: of an `anyOf` or `oneOf` remain the errors of the branch that was meant, or a
 * single one that names the allowed types. The most specific error comes last.
 */
export function selectErrors(violations: Violation[]): Violation[] {
  return (
    violations
      .filter(({ keyword }) => keyword === "anyOf" || keyword === "oneOf")
      .reduce(collapseAnyOf, violations)
      // `if` only points at the error of its `then` or `else`, which is reported too.
      .filter(({ keyword }) => keyword !== "if")
      // Each item that is not what `contains` asks for has a separate error.
      .filter(({ schemaPath }) => !schemaPath.includes("/contains/"))
  );
}

function collapseAnyOf(violations: Violation[], choice: Violation): Violation[] {
  const prefix = `${choice.schemaPath}/`;
  const inside = violations.filter(
    (violation) => violation.schemaPath.startsWith(prefix) && isWithin(violation, choice),
  );
  const branches = Object.values(
    Object.groupBy(inside, ({ schemaPath }) => schemaPath.slice(prefix.length).split("/", 1)[0] ?? ""),
  ).filter((branch) => branch !== undefined);
  const meant = branches.filter((branch) => !branch.some((violation) => isWrongType(violation, choice)));

  const dropped = new Set(inside);
  const rest = violations.filter((violation) => !dropped.has(violation) && violation !== choice);
  const [only] = meant;
  if (only !== undefined && meant.length === 1) return [...rest, ...only];
  return [...rest, meant.length === 0 ? toTypeViolation(choice, inside) : toRequiredViolation(choice, inside)];
}

function isWithin(violation: Violation, choice: Violation): boolean {
  return `${violation.instancePath}/`.startsWith(`${choice.instancePath}/`);
}

function isWrongType(violation: Violation, choice: Violation): boolean {
  return violation.keyword === "type" && violation.instancePath === choice.instancePath;
}

/** In place of a choice that fails only because none of some fields is there. */
const ANY_REQUIRED = "anyRequired";

function toRequiredViolation(choice: Violation, inside: Violation[]): Violation {
  const isMissing = inside.every(
    ({ keyword, instancePath }) => keyword === "required" && instancePath === choice.instancePath,
  );
  if (!isMissing) return choice;
  return { ...choice, keyword: ANY_REQUIRED, params: { names: inside.map(({ params }) => params["missingProperty"]) } };
}

function toTypeViolation(choice: Violation, inside: Violation[]): Violation {
  const types = inside
    .filter((violation) => isWrongType(violation, choice))
    .flatMap((violation) => violation.params["type"]);
  return types.length === 0 ? choice : { ...choice, keyword: "type", params: { type: [...new Set(types)] } };
}
