import type { ConfigProblem } from "../errors.ts";
import { compileSchema, type SchemaCheck } from "./ajv.ts";
import { didYouMean } from "./did-you-mean.ts";
import type { UserConfig } from "./generated.ts";
import { isObject } from "./is-object.ts";
import type { Segment } from "./key-path.ts";
import { extendSchema } from "./plugins/extend-schema.ts";
import type { Plugin } from "./plugins/plugin.ts";
import type { SchemaProblem } from "./schema-problem.ts";
import { readSchema } from "./schemas.ts";
import { without } from "./without.ts";

export interface SchemaReport {
  /** What is left of the configuration without all that has a problem: the rules can still look at it. */
  valid: UserConfig;
  problems: ConfigProblem[];
}

/** Checks a configuration against its schema, the blocks of plugins against theirs. */
export function checkSchema(value: unknown, plugins: Plugin[] = []): SchemaReport {
  const check = plugins.length === 0 ? checkOwn : compile(extendSchema(readSchema("config"), plugins));
  return { valid: toValid(value, check), problems: check(value).map(toConfigProblem) };
}

/** A schema's problem as the operator hears it. */
export function toConfigProblem({ path, rule, unknown }: SchemaProblem): ConfigProblem {
  if (unknown) return { key: path, message: describeUnknown(unknown) };
  return path === "" ? { message: `The configuration ${rule}` } : { key: path, message: rule };
}

const checkOwn = compile(readSchema("config"));

function compile(schema: Record<string, unknown>): SchemaCheck {
  return compileSchema(schema, { all: true, references: [readSchema("mapping")] });
}

function describeUnknown({ name, known }: { name: string; known: string[] }): string {
  return `unknown key "${name}"${didYouMean(name, known)}`;
}

function toValid(value: unknown, check: SchemaCheck): UserConfig {
  let valid = value;
  // A part that goes may have been required around it, which then goes as well.
  while (!isUserConfig(valid, check)) valid = withoutProblems(valid, check(valid));
  return valid;
}

function isUserConfig(value: unknown, check: SchemaCheck): value is UserConfig {
  return check(value).length === 0;
}

function withoutProblems(value: unknown, problems: SchemaProblem[]): unknown {
  return problems.map(({ segments }) => toWritten(value, segments)).reduce<unknown>(without, value);
}

/** Of a missing field, the object that it is missing in. */
function toWritten(value: unknown, segments: Segment[]): Segment[] {
  return exists(value, segments) ? segments : segments.slice(0, -1);
}

function exists(value: unknown, [first, ...rest]: Segment[]): boolean {
  if (first === undefined) return true;
  if (Array.isArray(value)) return exists(value[Number(first)], rest);
  return isObject(value) && Object.hasOwn(value, first) && exists(value[first], rest);
}
