import { selectErrors } from "./violations.ts";
import type * as AjvLibrary from "ajv";
import type { Ajv, AnySchemaObject, CodeKeywordDefinition, Options } from "ajv";
import type * as AjvFormats from "ajv-formats";
import type * as Draft2019 from "ajv/dist/2019.js";
import type * as Draft2020 from "ajv/dist/2020.js";
import { loadAtFirstUse } from "../../shared/system/package.ts";
import { compileExpression, type Expression } from "./linear-regexp.ts";
import { toSchemaProblem } from "./problems.ts";
import { hasUniqueItems } from "../../shared/json.ts";

const ajvLibrary = loadAtFirstUse<typeof AjvLibrary>("ajv");
const ajvFormats = loadAtFirstUse<typeof AjvFormats>("ajv-formats");
const draft2019 = loadAtFirstUse<typeof Draft2019>("ajv/dist/2019.js");
const draft2020 = loadAtFirstUse<typeof Draft2020>("ajv/dist/2020.js");

export interface SchemaOptions {
  /**
   * Report every problem instead of the first. Not for untrusted values: the work would grow with them.
   */
  all?: boolean;
  /** The name of the value itself in messages. Default: `the payload`. */
  subject?: string;
  /** Reads the schemas with an `$id` that this one refers to. */
  references?: () => AnySchemaObject[];
  /** Write the schema's defaults into the value. */
  fillDefaults?: boolean;
  /** For schemas of others on untrusted values: an expression that cannot run in linear time is refused. */
  untrusted?: boolean;
  /** For schemas of peers: `format` is not checked, nor is an expression that cannot run, which is passed here. */
  skipHint?: (expression: string) => void;
}

const BASE_OPTIONS: Options = {
  strict: false,
  // `1e400` is valid JSON and parses to Infinity, which JSON cannot represent and no timer can wait for.
  strictNumbers: true,
  logger: false,
  verbose: true,
  // An inherited property (`constructor`) must not satisfy `required`.
  ownProperties: true,
};

type Dialect = new (options: Options) => Ajv;

function dialectOf(schema: AnySchemaObject | boolean): Dialect {
  const uri: unknown = typeof schema === "object" ? schema["$schema"] : undefined;
  if (typeof uri === "string" && uri.includes("draft/2020-12")) return draft2020().Ajv2020;
  if (typeof uri === "string" && uri.includes("draft/2019-09")) return draft2019().Ajv2019;
  return ajvLibrary().Ajv;
}

/** One for each dialect, since building it costs more than compiling most schemas. */
const metaValidators = new Map<Dialect, Ajv>();

function metaValidatorOf(schema: AnySchemaObject | boolean): Ajv {
  const dialect = dialectOf(schema);
  const meta = metaValidators.get(dialect) ?? new dialect(BASE_OPTIONS);
  metaValidators.set(dialect, meta);
  return meta;
}

/** The keywords of the schema's draft. */
export function listKeywords(schema: AnySchemaObject): ReadonlySet<string> {
  return new Set(Object.keys(metaValidatorOf(schema).RULES.keywords));
}

/** Throws an `Error` that says what is wrong with the schema. */
export function requireValidSchema(schema: AnySchemaObject | boolean): void {
  const meta = metaValidatorOf(schema);
  if (meta.validateSchema(schema) === true) return;
  const violations = selectErrors(meta.errors ?? []);
  throw new Error(violations.map((violation) => toSchemaProblem(violation, schema, "the schema").message).join(", "));
}

/**
 * An instance for one schema: two schemas may have the same `$id`, and an instance keeps every `$id`. `source`: keep the
 * code of what it compiles.
 */
export function createAjv(schema: AnySchemaObject | boolean, options: SchemaOptions, source = false): Ajv {
  const dialect = dialectOf(schema);
  const ajv = new dialect({
    ...BASE_OPTIONS,
    allErrors: options.all === true,
    useDefaults: options.fillDefaults,
    validateSchema: false,
    // Most of the time of a new instance is that of the draft's own schema.
    meta: options.references !== undefined || JSON.stringify(schema).includes("//json-schema.org/"),
    validateFormats: options.skipHint === undefined,
    code: {
      source,
      // A configuration is checked a few times: the code would take longer to optimize than to run.
      optimize: source || (options.fillDefaults !== true && !options.skipHint),
      ...(options.untrusted && { regExp: createLinearEngine() }),
    },
  });
  ajvFormats().default.default(ajv);
  ajv.addFormat("url", URL_FORMAT);
  ajv.removeKeyword("uniqueItems").addKeyword(uniqueItems());
  // `id` is a keyword of draft-04 only. In later drafts it is a name like any other.
  ajv.removeKeyword("id");
  if (options.skipHint) skipHints(ajv, options.skipHint);
  ajv.addSchema(options.references?.() ?? []);
  return ajv;
}

/** More than a payload of usual size needs. */
const MAX_REFERENCES = 250_000;

/**
 * In a recursive schema with two recursive branches, each level of a value doubles the work: thirty levels would take
 * hours. After `MAX_REFERENCES` references since the last `reset`, a `RangeError` is thrown. Call this before compiling.
 */
export function limitReferences(ajv: Ajv): { reset(): void } {
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
        const { _ } = ajvLibrary();
        context.gen.code(_`${context.gen.scopeValue("func", { ref: follow })}()`);
        code?.(context, ruleType);
      },
    });
  }
  return { reset: () => (left = MAX_REFERENCES) };
}

/** Leaves out what cannot be decided without an expression that cannot run. */
function skipHints(ajv: Ajv, onSkip: (expression: string) => void): void {
  for (const keyword of ["pattern", "patternProperties", "additionalProperties"]) {
    const definition = ajv.getKeyword(keyword);
    if (typeof definition !== "object" || !("code" in definition)) continue;
    const { code } = definition;
    ajv.removeKeyword(keyword).addKeyword({
      ...definition,
      code(context, ruleType) {
        const { pattern, patternProperties = {} } = context.parentSchema;
        const expressions = keyword === "pattern" ? [pattern] : Object.keys(patternProperties);
        const refused = expressions.filter((expression) => !canRun(expression));
        if (refused.length === 0) return code?.(context, ruleType);
        refused.forEach(onSkip);
        // Nor is it known which properties are left for `unevaluatedProperties`.
        if (keyword !== "pattern") context.it.props = true;
      },
    });
  }
}

function canRun(expression: string): boolean {
  try {
    compileExpression(expression, "u");
    return true;
  } catch {
    return false;
  }
}

type Engine = NonNullable<NonNullable<Options["code"]>["regExp"]>;

/** Compiles the expressions of a schema's validator, each once: the validator asks at every use. */
function createLinearEngine(): Engine {
  const expressions = new Map<string, Expression>();
  const compile = (pattern: string, flags: string): Expression => {
    const expression = expressions.get(pattern) ?? compileExpression(pattern, flags);
    expressions.set(pattern, expression);
    return expression;
  };
  // ajv requires a name, which only validators that are written to a file use.
  return Object.assign(compile, { code: "compileExpression" });
}

function uniqueItems(): CodeKeywordDefinition {
  const { _ } = ajvLibrary();
  return {
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    code(context) {
      if (context.schema !== true) return;
      const code = _`require("../../shared/json.ts").hasUniqueItems`;
      context.pass(_`${context.gen.scopeValue("func", { ref: hasUniqueItems, code })}(${context.data})`);
    },
    error: { message: "must not have duplicate items" },
  };
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
