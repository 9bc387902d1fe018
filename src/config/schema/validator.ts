import {
  _,
  Ajv,
  type AnySchemaObject,
  type ErrorObject,
  type FuncKeywordDefinition,
  type Options,
  type ValidateFunction,
} from "ajv";
import formats from "ajv-formats";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { readFileSync } from "node:fs";
import path from "node:path";
import { isObject } from "../../shared/json.ts";
import { PACKAGE_ROOT } from "../package.ts";
import { compileExpression, type Expression, type OnBacktracking } from "./linear-regexp.ts";
import { selectErrors, type SchemaProblem, toSchemaProblem } from "./problems.ts";

/** Finds what does not fit the schema. Never throws. */
export type SchemaCheck = (value: unknown) => SchemaProblem[];

export interface SchemaOptions {
  /**
   * Report every problem instead of the first. Not for untrusted values: the work would grow with them.
   */
  all?: boolean;
  /** The name of the value itself in messages. Default: `the payload`. */
  subject?: string;
  /** Schemas with an `$id` that this one refers to. */
  references?: AnySchemaObject[];
  /** Write the schema's defaults into the value, also those of the branch that a `discriminator` picks. */
  fillDefaults?: boolean;
  /**
   * For schemas of others on untrusted values: their expressions run in linear time, and this is called for each that
   * cannot. Default: expressions run as they are.
   */
  onBacktracking?: OnBacktracking;
}

/**
 * Prepares a JSON Schema: draft-07, or what its `$schema` names of 2019-09 and 2020-12. Unknown keywords and formats are
 * ignored, as the drafts require. Throws an `Error` that says what is wrong with the schema.
 */
export function compileSchema(schema: unknown, options: SchemaOptions = {}): SchemaCheck {
  requireSchema(schema);
  requireValid(schema);
  return compileValid(schema, options);
}

/** A check by one of the package's own schemas. It is compiled at the first use: few commands need all of them. */
export function createCheck(read: () => AnySchemaObject, options: SchemaOptions = {}): SchemaCheck {
  let check: SchemaCheck | undefined;
  return (value) => (check ??= compileValid(read(), options))(value);
}

function compileValid(schema: AnySchemaObject | boolean, options: SchemaOptions): SchemaCheck {
  const ajv = createAjv(dialectOf(schema), options);
  const limit = options.onBacktracking && limitReferences(ajv);
  const validate = ajv.compile(schema);
  return (value) => {
    limit?.reset();
    const errors = findErrors(validate, value);
    if (errors.length === 0) return [];
    const violations = selectErrors(options.all === true ? errors : errors.slice(-MAX_ERRORS));
    const reported = options.all === true ? violations : violations.slice(-1);
    return reported.map((violation) => toSchemaProblem(violation, value, options.subject ?? "the payload"));
  };
}

/** If only the last error is reported, no more than this many are examined for its meaning. */
const MAX_ERRORS = 1000;

type Dialect = typeof Ajv | typeof Ajv2019 | typeof Ajv2020;

const BASE_OPTIONS: Options = {
  strict: false,
  // `1e400` is valid JSON and parses to Infinity, which JSON cannot represent and no timer can wait for.
  strictNumbers: true,
  logger: false,
  verbose: true,
  // An inherited property (`constructor`) must not satisfy `required`.
  ownProperties: true,
};

/** One for each dialect, since building it costs more than compiling most schemas. */
const metaValidators = new Map<Dialect, Ajv>();

const TOO_DEEP = toError("depth", "is nested too deeply");
/** Comparing values calls a payload's own `valueOf` or `toString` as a method. */
const NOT_COMPARABLE = toError("equal", "holds a valueOf or toString, and cannot be compared");

function requireSchema(schema: unknown): asserts schema is AnySchemaObject | boolean {
  if (typeof schema === "boolean") return;
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    throw new TypeError("a JSON Schema must be an object, true or false");
  }
  // Its validator would return a promise, which is truthy, so every value would fit.
  if ("$async" in schema) throw new Error("$async schemas are not supported");
}

function dialectOf(schema: AnySchemaObject | boolean): Dialect {
  const uri: unknown = typeof schema === "object" ? schema["$schema"] : undefined;
  if (typeof uri !== "string") return Ajv;
  if (uri.includes("draft/2020-12")) return Ajv2020;
  if (uri.includes("draft/2019-09")) return Ajv2019;
  return Ajv;
}

function requireValid(schema: AnySchemaObject | boolean): void {
  const dialect = dialectOf(schema);
  const meta = metaValidators.get(dialect) ?? new dialect(BASE_OPTIONS);
  metaValidators.set(dialect, meta);
  if (meta.validateSchema(schema) === true) return;
  const violations = selectErrors(meta.errors ?? []);
  throw new Error(violations.map((violation) => toSchemaProblem(violation, schema, "the schema").message).join(", "));
}

/**
 * A new instance for each schema: two schemas may have the same `$id`, and an instance keeps every `$id`.
 */
function createAjv(dialect: Dialect, options: SchemaOptions): Ajv {
  const { onBacktracking } = options;
  const ajv = new dialect({
    ...BASE_OPTIONS,
    allErrors: options.all === true,
    useDefaults: options.fillDefaults,
    discriminator: options.fillDefaults,
    validateSchema: false,
    code: {
      // A configuration is checked a few times: the code would take longer to optimise than to run.
      optimize: options.fillDefaults !== true,
      ...(onBacktracking && { regExp: createLinearEngine(onBacktracking) }),
    },
  });
  formats.default(ajv);
  ajv.addFormat("url", URL_FORMAT);
  ajv.removeKeyword("uniqueItems").addKeyword(UNIQUE_ITEMS);
  ajv.addSchema(options.references ?? []);
  return ajv;
}

/** More than a payload of usual size needs. */
const MAX_REFERENCES = 250_000;

/**
 * In a recursive schema with two recursive branches, each level of a value doubles the work: thirty levels would take
 * hours. After `MAX_REFERENCES` references since the last `reset`, a `RangeError` is thrown. Call this before compiling.
 */
function limitReferences(ajv: Ajv): { reset(): void } {
  let left = MAX_REFERENCES;
  const follow = (): void => {
    if (left-- <= 0) throw new RangeError("too many references");
  };
  for (const keyword of ["$ref", "$recursiveRef", "$dynamicRef"]) {
    const definition = ajv.getKeyword(keyword);
    if (typeof definition !== "object" || !("code" in definition)) continue;
    const { code } = definition;
    ajv.removeKeyword(keyword).addKeyword({
      ...definition,
      code(context, ruleType) {
        context.gen.code(_`${context.gen.scopeValue("func", { ref: follow })}()`);
        code?.(context, ruleType);
      },
    });
  }
  return { reset: () => (left = MAX_REFERENCES) };
}

/**
 * The errors of a value; none if it fits. A recursive schema recurses with the value, and a deeply nested one must not end
 * the process.
 */
function findErrors(validate: ValidateFunction, value: unknown): ErrorObject[] {
  try {
    return validate(value) ? [] : (validate.errors ?? []);
  } catch (error) {
    if (error instanceof RangeError) return [TOO_DEEP];
    if (error instanceof TypeError) return [NOT_COMPARABLE];
    throw error;
  }
}

function toError(keyword: string, message: string): ErrorObject {
  return { keyword, instancePath: "", schemaPath: "#", params: {}, message };
}

type Engine = NonNullable<NonNullable<Options["code"]>["regExp"]>;

/** Compiles the expressions of a schema's validator, each once: the validator asks at every use. */
function createLinearEngine(onBacktracking: OnBacktracking): Engine {
  const expressions = new Map<string, Expression>();
  const compile = (pattern: string, flags: string): Expression => {
    const expression = expressions.get(pattern) ?? compileExpression(pattern, flags, onBacktracking);
    expressions.set(pattern, expression);
    return expression;
  };
  // ajv requires a name, which only validators that are written to a file use.
  return Object.assign(compile, { code: "compileExpression" });
}

/**
 * The keyword `uniqueItems` in linear time: ajv compares each item with each other, which takes many seconds for the
 * largest payloads.
 */
const UNIQUE_ITEMS: FuncKeywordDefinition = {
  keyword: "uniqueItems",
  type: "array",
  schemaType: "boolean",
  validate: (isRequired: boolean, items: unknown[]) => !isRequired || hasUniqueItems(items),
  error: { message: "must NOT have duplicate items" },
};

function hasUniqueItems(items: readonly unknown[]): boolean {
  return items.length < 2 || new Set(items.map(toIdentity)).size === items.length;
}

/** The same text for equal values and for no others. Unlike in JSON, `1e400` is not null. */
function toIdentity(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toIdentity).join(",")}]`;
  if (isObject(value)) return `{${Object.keys(value).toSorted().map(toField(value)).join(",")}}`;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

function toField(object: Record<string, unknown>) {
  return (name: string): string => `${JSON.stringify(name)}:${toIdentity(object[name])}`;
}

const PORT_AND_PATH = String.raw`(?::\d{2,5})?(?:\/\S*)?`;

/** An IPv4 address that is not private. */
const PUBLIC_ADDRESS = [
  String.raw`(?!(?:10|127)(?:\.\d{1,3}){3})(?!(?:169\.254|192\.168)(?:\.\d{1,3}){2})(?!172\.(?:1[6-9]|2\d|3[0-1])(?:\.\d{1,3}){2})`,
  String.raw`(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.(?:1?\d{1,2}|2[0-4]\d|25[0-5])){2}(?:\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4]))`,
].join("");

const LABEL = String.raw`(?:[a-z0-9\u{a1}-\u{ffff}]+-)*[a-z0-9\u{a1}-\u{ffff}]+`;
const NAME = String.raw`${LABEL}(?:\.${LABEL})*\.[a-z\u{a1}-\u{ffff}]{2,}`;

/**
 * The format `url` of `ajv-formats`, except for the part before the `@`: there the original tries every split into user and
 * password, which takes quadratic time.
 */
const URL_FORMAT = new RegExp(
  String.raw`^(?:https?|ftp):\/\/(?:[^\s/?#]+@)?(?:${PUBLIC_ADDRESS}|${NAME})${PORT_AND_PATH}$`,
  "iu",
);

type SchemaName = "api" | "config.base" | "mapping" | "preset" | "wake" | "agent" | "action";

/** One of the package's own JSON Schemas, as a new object. */
export function readSchema(name: SchemaName): Record<string, unknown> {
  return JSON.parse(readFileSync(path.join(PACKAGE_ROOT, "schemas", `${name}.json`), "utf8"));
}
