import { messageOf } from "../../errors.ts";
import { isObject } from "../../shared/json.ts";
import { compileSchema, type SchemaCheck } from "./validator.ts";

/** The JSON Schema of a call's arguments, ready for use. */
export interface ToolSchema {
  check: SchemaCheck;
  /** The same for some of the arguments: others may be missing. */
  checkSome: SchemaCheck;
  /** Expressions that are not checked here, because they cannot run in linear time. */
  unchecked: ReadonlySet<string>;
}

const DRAFT_07 = "http://json-schema.org/draft-07/schema#";
const DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema";
const DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema";

/**
 * Prepares the schema that a server gives for a call. It is the server that judges the arguments in the end, so what only
 * hints is not checked here: `format`, and a `pattern` that cannot run in linear time. Without a `$schema`, or with one that
 * is unknown, it is 2020-12, as the protocol says, and draft-07 if only that takes it. Throws an `Error` that says what is
 * wrong with the schema.
 */
export function compileServerSchema(schema: Record<string, unknown>): ToolSchema {
  requireLimits(schema);
  const failures: unknown[] = [];
  for (const $schema of listDrafts(schema["$schema"])) {
    try {
      return compile({ ...schema, $schema }, true);
    } catch (error) {
      failures.push(error);
    }
  }
  throw failures[0];
}

/** Prepares the schema that an operator or a plugin gives for a call. Throws an `Error` that says what is wrong with it. */
export function compileOwnSchema(schema: Record<string, unknown>): ToolSchema {
  requireLimits(schema);
  return compile(schema, false);
}

function listDrafts(written: unknown): string[] {
  const uri = typeof written === "string" ? written : "";
  if (uri.includes("2019-09")) return [DRAFT_2019, DRAFT_2020];
  if (uri.includes("draft-07")) return [DRAFT_07, DRAFT_2020];
  return [DRAFT_2020, DRAFT_07];
}

function compile(schema: Record<string, unknown>, isLoose: boolean): ToolSchema {
  const unchecked = new Set<string>();
  const options = {
    untrusted: true,
    subject: "the arguments",
    ...(isLoose && { skipHint: (expression: string) => void unchecked.add(expression) }),
  };
  const check = compileSchema(schema, options);
  if (check({}).some(({ rule }) => rule === ENDLESS)) throw new Error("it refers to itself without end");
  let checkSome: SchemaCheck | undefined;
  return { check, checkSome: (value) => (checkSome ??= compileSome())(value), unchecked };

  function compileSome(): SchemaCheck {
    const { required: _, ...rest } = schema;
    try {
      return compileSchema(rest, options);
    } catch {
      // A reference leads into the list of required arguments. The whole is checked before it is sent.
      return () => [];
    }
  }
}

/** The rule that any value breaks, if following references does not end. */
const ENDLESS = "is nested too deeply";

/** More is no description of arguments: compiling it would hold up the whole service. `schemas`: with those inside. */
export const SCHEMA_LIMITS = {
  enum: 2000,
  properties: 1000,
  depth: 64,
  bytes: 256 * 1024,
  schemas: 4000,
  expressions: 200,
};

/** Throws an `Error` that says which limit a schema exceeds. */
export function requireLimits(schema: unknown): void {
  const counts = { schemas: 0, expressions: 0 };
  visit(schema, 0, true);
  requireCount("bytes", Buffer.byteLength(JSON.stringify(schema)), SCHEMA_LIMITS.bytes);

  /** `isSchema`: not a value that an enum lists. */
  function visit(part: unknown, depth: number, isSchema: boolean): void {
    if (typeof part !== "object" || part === null) return;
    if (depth >= SCHEMA_LIMITS.depth) throw new Error(`it is nested more than ${SCHEMA_LIMITS.depth} levels deep`);
    if (isSchema) requireCount("schemas inside", (counts.schemas += 1), SCHEMA_LIMITS.schemas);
    for (const [keyword, value] of Object.entries(part)) {
      const isEnum = keyword === "enum" && Array.isArray(value);
      if (isEnum) requireCount("values in an enum", value.length, SCHEMA_LIMITS.enum);
      if (["properties", "patternProperties"].includes(keyword) && isObject(value)) {
        const names = Object.keys(value).length;
        requireCount(keyword, names, SCHEMA_LIMITS.properties);
        if (keyword === "patternProperties") counts.expressions += names;
      }
      if (keyword === "pattern" && typeof value === "string") counts.expressions += 1;
      requireCount("expressions", counts.expressions, SCHEMA_LIMITS.expressions);
      visit(value, depth + 1, isSchema && !isEnum);
    }
  }
}

function requireCount(what: string, count: number, max: number): void {
  if (count > max) throw new Error(`it has more than ${max} ${what}`);
}

/** Why a schema cannot be used, as a sentence without its period. */
export function explainUnusable(error: unknown): string {
  return `its schema cannot be used: ${messageOf(error).replace(/\.$/, "")}`;
}
