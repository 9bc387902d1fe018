import type { ConfigProblem } from "../errors.ts";
import { isObject, type Segment } from "../shared/json.ts";
import { didYouMean } from "./did-you-mean.ts";
import { extendSchema } from "./plugins/extend-schema.ts";
import type { Plugin } from "../plugin.ts";
import type { UserConfig } from "./schema/generated.ts";
import type { SchemaProblem } from "./schema/problems.ts";
import { compileSchema, readSchema, type SchemaCheck } from "./schema/validator.ts";

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

/**
 * A copy of a configuration without the part at a place; without the whole of it, an empty one. Taking an
 * element of an array takes the array, so that no other element changes its index.
 */
function without(value: unknown, place: readonly Segment[]): unknown {
  const lastKey = place.findLastIndex((segment) => typeof segment === "string");
  return lastKey === -1 ? {} : remove(value, place.slice(0, lastKey + 1));
}

function remove(value: unknown, [first, ...rest]: readonly Segment[]): unknown {
  if (Array.isArray(value)) return value.map((item, index) => (index === first ? remove(item, rest) : item));
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    rest.length === 0
      ? entries.filter(([key]) => key !== first)
      : entries.map(([key, child]) => [key, key === first ? remove(child, rest) : child]),
  );
}
