import type { MappingInput } from "../config/schema/generated.ts";
import { compileExpression, type Expression } from "../config/schema/linear-regexp.ts";
import { compileSchema } from "../config/schema/validator.ts";
import { messageOf } from "../errors.ts";
import { appendSegment, readOwn } from "../shared/json.ts";
import type { HookRequest } from "../types.ts";
import { type Report, reportBacktracking } from "./report.ts";

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
