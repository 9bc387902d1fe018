import { selectErrors } from "./violations.ts";
import type { AnySchemaObject, ErrorObject } from "ajv";
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { serialize } from "node:v8";
import { PACKAGE_ROOT } from "../../shared/system/package.ts";
import { createWeakCache } from "../../shared/weak-cache.ts";
import { findFacts } from "./build-facts.ts";
import { createAjv, limitReferences, requireValidSchema, type SchemaOptions } from "./ajv.ts";
import { compiledChecks, type Validate } from "./compiled-checks.ts";
import { withoutLooseNullable } from "./keywords.ts";
import { type SchemaProblem, toSchemaProblem } from "./problems.ts";

/** Finds what does not fit the schema. Never throws. */
export type SchemaCheck = (value: unknown) => SchemaProblem[];

/**
 * Prepares a JSON Schema: draft-07, or what its `$schema` names of 2019-09 and 2020-12. Unknown keywords and formats are
 * ignored, as the drafts require. Throws an `Error` that says what is wrong with the schema.
 */
export function compileSchema(schema: unknown, options: SchemaOptions = {}): SchemaCheck {
  requireSchema(schema);
  requireValidSchema(schema);
  const compile = (): SchemaCheck => compileValid(withoutLooseNullable(schema), options);
  if (options.untrusted !== true || options.skipHint) return compile();
  return untrusted.get(serialize([schema, options]).toString("latin1"), compile);
}

/**
 * The check of a mapping's schema for payloads. Throws as `compileSchema` does. `report` says what else is wrong with the
 * schema, and whether anything is. `kind`: what it reports about.
 */
export function compilePayloadCheck(schema: unknown, kind: string, report: () => boolean): SchemaCheck {
  let check: SchemaCheck | undefined;
  const compile = (): SchemaCheck => (check ??= compileSchema(schema, { untrusted: true }));
  findFacts(kind, JSON.stringify(schema), () => {
    compile();
    return report() ? undefined : {};
  });
  return (value) => compile()(value);
}

/** The checks of mappings. */
const untrusted = createWeakCache<SchemaCheck>();

/** A check by a schema of ours: what the build has compiled under the name `built`, else compiled at the first use. */
export function createCheck(
  read: () => AnySchemaObject,
  { built, ...options }: SchemaOptions & { built?: string } = {},
): SchemaCheck {
  let check: SchemaCheck | undefined;
  return (value) => (check ??= find())(value);

  function find(): SchemaCheck {
    const validate = built === undefined ? undefined : compiledChecks.find?.(built);
    return validate ? toCheck(validate, options) : compileValid(read(), options);
  }
}

/** How a block of the configuration is checked whose schema is not in a file. */
export const BLOCK_OPTIONS = { all: true, fillDefaults: true };

/** The check of such a block. The build has compiled that of each driver, and those of the presets' parameters. */
export function createBlockCheck(schema: Record<string, unknown>): SchemaCheck {
  return createCheck(() => schema, { ...BLOCK_OPTIONS, built: toCheckName(schema) });
}

/** The name under which the build keeps the check of a block: equal schemas have the same. */
export function toCheckName(schema: Record<string, unknown>): string {
  return `block-${hash("sha256", JSON.stringify(schema)).slice(0, 32)}`;
}

/** How the package's own schemas are checked. */
export const BUILT_CHECKS = {
  config: { all: true, fillDefaults: true, references: () => [readMapping(), AUTH] },
  mapping: { all: true, fillDefaults: true, references: () => [AUTH] },
  preset: { all: true, subject: "the preset" },
  wake: {},
  agent: {},
  action: { all: true },
} satisfies Record<string, SchemaOptions>;

type BuiltName = keyof typeof BUILT_CHECKS;

/** The check by one of the package's schemas. Blocks of drivers are only objects for it: see blocks.ts. */
export function createBuiltCheck(name: BuiltName): SchemaCheck {
  return createCheck(() => readBuilt(name), { ...BUILT_CHECKS[name], built: name });
}

export function readBuilt(name: BuiltName): Record<string, unknown> {
  if (name === "mapping") return readMapping();
  return readSchema(name === "config" ? "config.base" : name);
}

const AUTH = { $id: "hookline/auth.json", type: "object" };

/** A mapping's defaults are applied when it is compiled. */
function readMapping(): Record<string, unknown> {
  return JSON.parse(
    JSON.stringify(readSchema("mapping"), (key, part: unknown) => (key === "default" ? undefined : part)),
  );
}

function compileValid(schema: AnySchemaObject | boolean, options: SchemaOptions): SchemaCheck {
  const ajv = createAjv(schema, options);
  const limit = options.untrusted ? limitReferences(ajv) : undefined;
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
