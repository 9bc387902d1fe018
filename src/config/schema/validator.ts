import type { AnySchemaObject, ErrorObject } from "ajv";
import { readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_ROOT } from "../../shared/package.ts";
import { createAjv, limitReferences, requireValidSchema, type SchemaOptions } from "./ajv.ts";
import { compiledChecks, type Validate } from "./compiled-checks.ts";
import { selectErrors, type SchemaProblem, toSchemaProblem } from "./problems.ts";

/** Finds what does not fit the schema. Never throws. */
export type SchemaCheck = (value: unknown) => SchemaProblem[];

/**
 * Prepares a JSON Schema: draft-07, or what its `$schema` names of 2019-09 and 2020-12. Unknown keywords and formats are
 * ignored, as the drafts require. Throws an `Error` that says what is wrong with the schema.
 */
export function compileSchema(schema: unknown, options: SchemaOptions = {}): SchemaCheck {
  requireSchema(schema);
  requireValidSchema(schema);
  return compileValid(schema, options);
}

/** A check by a schema of ours, compiled at the first use: few commands need all of them. */
export function createCheck(read: () => AnySchemaObject, options: SchemaOptions = {}): SchemaCheck {
  let check: SchemaCheck | undefined;
  return (value) => (check ??= compileValid(read(), options))(value);
}

/** How the schemas are checked that the build compiles. */
export const BUILT_CHECKS = {
  config: { all: true, fillDefaults: true },
  mapping: { all: true, fillDefaults: true },
  preset: { all: true, subject: "the preset" },
  wake: {},
  agent: {},
  action: { all: true },
} satisfies Record<keyof typeof compiledChecks, SchemaOptions>;

/** The check that the build has compiled; undefined in a checkout. */
export function findBuiltCheck(name: keyof typeof BUILT_CHECKS): SchemaCheck | undefined {
  const load = compiledChecks[name];
  return load && toCheck(load(), BUILT_CHECKS[name]);
}

/** Like `createCheck`, for one of the package's schemas. */
export function createBuiltCheck(name: Exclude<keyof typeof BUILT_CHECKS, "config" | "mapping">): SchemaCheck {
  let check: SchemaCheck | undefined;
  return (value) => (check ??= findBuiltCheck(name) ?? compileValid(readSchema(name), BUILT_CHECKS[name]))(value);
}

function compileValid(schema: AnySchemaObject | boolean, options: SchemaOptions): SchemaCheck {
  const ajv = createAjv(schema, options);
  const limit = options.onBacktracking && limitReferences(ajv);
  const check = toCheck(ajv.compile(schema), options);
  return (value) => {
    limit?.reset();
    return check(value);
  };
}

function toCheck(validate: Validate, options: SchemaOptions): SchemaCheck {
  return (value) => {
    const errors = findErrors(validate, value);
    if (errors.length === 0) return [];
    const violations = selectErrors(options.all === true ? errors : errors.slice(-MAX_ERRORS));
    const reported = options.all === true ? violations : violations.slice(-1);
    return reported.map((violation) => toSchemaProblem(violation, value, options.subject ?? "the payload"));
  };
}

/** If only the last error is reported, no more than this many are examined for its meaning. */
const MAX_ERRORS = 1000;

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

/**
 * The errors of a value; none if it fits. A recursive schema recurses with the value, and a deeply nested one must not end
 * the process.
 */
function findErrors(validate: Validate, value: unknown): ErrorObject[] {
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

type SchemaName = "api" | "config.base" | "mapping" | "preset" | "wake" | "agent" | "action";

/** One of the package's own JSON Schemas, as a new object. */
export function readSchema(name: SchemaName): Record<string, unknown> {
  return JSON.parse(readFileSync(path.join(PACKAGE_ROOT, "schemas", `${name}.json`), "utf8"));
}
