import type { MappingInput } from "../config/schema/generated.ts";
import { compileExpression, type Expression } from "../config/schema/linear-regexp.ts";
import { compileSchema } from "../config/schema/validator.ts";
import type { MappingSource } from "../config/types.ts";
import { type ConfigProblem, messageOf } from "../errors.ts";
import { appendSegment, readOwn } from "../shared/json.ts";
import { type HookRequest, isBuiltInHook } from "../types.ts";
import type { CompiledMapping } from "./compile.ts";
import { type Report, reportBacktracking } from "./report.ts";

/** All mappings, indexed so that a request is compared only with those of its path. */
export interface MappingIndex {
  mappings: readonly CompiledMapping[];
  /** The first mapping that takes the request. */
  find(request: HookRequest): CompiledMapping | undefined;
  /** The largest body that a mapping of the hook takes; `byDefault`: the limit of a mapping without its own. In bytes. */
  maxBodyBytes(hook: string, byDefault: number): number;
  /**
   * Why no mapping takes the request, for the operator: each that names its hook, with the first condition that fails.
   * undefined: no mapping that its credential sees names the hook.
   */
  explain(request: HookRequest): string | undefined;
}

/** The first match in the order of `mappings` wins. */
export function createMappingIndex(mappings: readonly CompiledMapping[]): MappingIndex {
  const anyPath = mappings.filter(({ match }) => match.path === undefined);
  const paths = new Set(mappings.flatMap(({ match }) => match.path ?? []));
  const byPath = new Map(
    [...paths].map((path) => [path, mappings.filter(({ match }) => match.path === undefined || match.path === path)]),
  );
  return {
    mappings,
    find: (request) =>
      (byPath.get(request.hook) ?? anyPath).find(
        (mapping) => isVisible(mapping, request) && mapping.match.failing(request) === undefined,
      ),
    maxBodyBytes(hook, byDefault) {
      const candidates = isBuiltInHook(hook) ? [] : (byPath.get(hook) ?? anyPath);
      if (candidates.length === 0) return byDefault;
      return Math.max(...candidates.map(({ source }) => source.mapping.maxBodyBytes ?? byDefault));
    },
    explain(request) {
      const named = (byPath.get(request.hook) ?? []).filter(
        (mapping) => mapping.match.path !== undefined && isVisible(mapping, request),
      );
      if (named.length === 0) return undefined;
      const failing = named
        .slice(0, MAX_EXPLAINED)
        .map(({ source, match }) => `${source.id} (${match.failing(request)})`);
      return `No mapping matches: ${failing.join(", ")}.`;
    },
  };
}

const MAX_EXPLAINED = 10;

/** A mapping with its own credential is seen only by that one; all other mappings are for the tokens. */
function isVisible(mapping: CompiledMapping, { credential }: HookRequest): boolean {
  return credential.startsWith("auth:") ? mapping.credential === credential : mapping.credential === undefined;
}

/** The conditions under which a mapping takes a request; all of them must hold. */
export interface Match {
  /** The name after the hooks path; undefined: any. */
  path?: string;
  /** undefined: any. */
  source?: string;
  /** By name in lower case: the value, or `/expression/flags`. */
  headers: Record<string, string>;
  where?: unknown;
  /** Checks everything but the path. Gives the key of the first condition that does not hold, such as `match.source`. */
  failing(request: HookRequest): string | undefined;
}

type MatchInput = NonNullable<MappingInput["match"]>;
type Test = (request: HookRequest) => boolean;

export function compileMatch(match: MatchInput, report: Report): Match {
  const headers = Object.entries(match.headers ?? {});
  const tests = headers.map(([name, pattern]): [string, Test] => [
    appendSegment("match.headers", name),
    compileHeader(name, pattern, report),
  ]);
  if (match.source !== undefined) {
    tests.push(["match.source", ({ payload }) => readOwn(payload, "source") === match.source]);
  }
  if (match.where !== undefined) tests.push(["match.where", compileWhere(match.where, report)]);
  return {
    path: match.path?.replace(/^\/+|\/+$/g, ""),
    source: match.source,
    headers: Object.fromEntries(headers.map(([name, pattern]) => [name.toLowerCase(), pattern])),
    where: match.where,
    failing: (request) => tests.find(([, test]) => !test(request))?.[0],
  };
}

const EXPRESSION = /^\/(.+)\/([a-z]*)$/s;

function compileHeader(written: string, pattern: string, report: Report): Test {
  const name = written.toLowerCase();
  const [, body, flags = ""] = EXPRESSION.exec(pattern) ?? [];
  if (body === undefined) return ({ headers }) => readOwn(headers, name) === pattern;
  const expression = compileHeaderExpression(body, flags, report, appendSegment("match.headers", written));
  return ({ headers }) => {
    const value = readOwn(headers, name);
    return typeof value === "string" && expression.test(value);
  };
}

function compileHeaderExpression(body: string, flags: string, report: Report, key: string): Expression {
  try {
    // `g` and `y` keep state between two tests, so they would match every other request only.
    if (/^[imsu]*$/.test(flags)) return compileExpression(body, flags, reportBacktracking(report, key));
    report.problem(key, `The flags of a regular expression can be i, m, s and u, not "${flags}".`);
  } catch (error) {
    report.problem(key, `The regular expression is not valid: ${messageOf(error)}.`);
  }
  return /(?!)/;
}

function compileWhere(schema: unknown, report: Report): Test {
  try {
    const check = compileSchema(schema, { onBacktracking: reportBacktracking(report, "match.where") });
    return ({ payload }) => check(payload).length === 0;
  } catch (error) {
    report.problem("match.where", `The schema is not valid: ${messageOf(error)}.`);
    return () => false;
  }
}

/** A warning for each mapping that no request can reach, because an earlier one takes everything it would match. */
export function findShadowed(mappings: readonly CompiledMapping[]): ConfigProblem[] {
  return mappings.flatMap((mapping, index) => {
    const shadow = mappings.slice(0, index).find((earlier) => isImplied(earlier, mapping));
    return shadow ? [toShadowWarning(mapping.source, shadow.source)] : [];
  });
}

/** True if `wide` accepts everything that `narrow` accepts: every condition of `wide` is also one of `narrow`. */
function isImplied(
  { match: wide, ...earlier }: CompiledMapping,
  { match: narrow, ...later }: CompiledMapping,
): boolean {
  return (
    earlier.credential === later.credential &&
    (wide.path === undefined || wide.path === narrow.path) &&
    (wide.source === undefined || wide.source === narrow.source) &&
    Object.entries(wide.headers).every(([name, pattern]) => narrow.headers[name] === pattern) &&
    (wide.where === undefined || JSON.stringify(wide.where) === JSON.stringify(narrow.where))
  );
}

function toShadowWarning(source: MappingSource, shadow: MappingSource): ConfigProblem {
  const { file, key, mapping } = source.preset === undefined ? source : shadow;
  const message =
    `The mapping "${source.id}" can never be reached: "${shadow.id}" comes first ` +
    `and takes every request that it would match. ${toRemedy(source, shadow)}`;
  return { file, key: mapping.match ? `${key}.match` : key, message };
}

/** A preset's mapping always comes after the configuration's own. */
function toRemedy({ preset }: MappingSource, shadow: MappingSource): string {
  if (preset === undefined) return "Move it up, or narrow the other's match.";
  const narrowed = shadow.preset === undefined ? `, or give "${shadow.id}" a narrower match` : "";
  return `Remove "${preset}" from hooks.presets${narrowed}.`;
}
