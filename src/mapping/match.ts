import { compileSchema } from "../config/ajv.ts";
import type { MappingInput } from "../config/generated.ts";
import { appendSegment } from "../config/key-path.ts";
import { messageOf } from "../errors.ts";
import type { HookRequest } from "../types.ts";
import { readOwn } from "./own.ts";

type MatchInput = NonNullable<MappingInput["match"]>;

/** When a mapping takes a request: all that it says must hold. */
export interface Match {
  /** The name after the hooks path; absent: any. */
  path?: string;
  /** Absent: any. */
  source?: string;
  /** By name in lower case: the value, or `/expression/flags`. */
  headers: Record<string, string>;
  where?: unknown;
  /** Whether all but the path holds. */
  accepts(request: HookRequest): boolean;
}

/** Prepares a mapping's `match`. `report` is told what is wrong with it: the key below `match`, and a sentence. */
export function compileMatch(match: MatchInput, report: (key: string, message: string) => void): Match {
  const headers = Object.entries(match.headers ?? {});
  const tests = headers.map(([name, pattern]) =>
    compileHeader(name.toLowerCase(), pattern, (message) => report(appendSegment("headers", name), message)),
  );
  if (match.source !== undefined) tests.push(({ payload }) => readOwn(payload, "source") === match.source);
  if (match.where !== undefined) tests.push(compileWhere(match.where, (message) => report("where", message)));
  return {
    path: match.path?.replace(/^\/+|\/+$/g, ""),
    source: match.source,
    headers: Object.fromEntries(headers.map(([name, pattern]) => [name.toLowerCase(), pattern])),
    where: match.where,
    accepts: (request) => tests.every((test) => test(request)),
  };
}

type Test = (request: HookRequest) => boolean;

const EXPRESSION = /^\/(.+)\/([a-z]*)$/s;
const FLAGS = /^[imsu]*$/;

function compileHeader(name: string, pattern: string, report: (message: string) => void): Test {
  const [, body, flags = ""] = EXPRESSION.exec(pattern) ?? [];
  if (body === undefined) return ({ headers }) => readOwn(headers, name) === pattern;
  const expression = compileExpression(body, flags, report);
  return ({ headers }) => {
    const value = readOwn(headers, name);
    return typeof value === "string" && expression.test(value);
  };
}

/** Flags that keep state between two tests (`g`, `y`) would match every other request only. */
function compileExpression(body: string, flags: string, report: (message: string) => void): RegExp {
  try {
    if (FLAGS.test(flags)) return new RegExp(body, flags);
    report(`The flags of a regular expression can be i, m, s and u, not "${flags}".`);
  } catch (error) {
    report(`The regular expression is not valid: ${messageOf(error)}.`);
  }
  return /(?!)/;
}

function compileWhere(schema: unknown, report: (message: string) => void): Test {
  try {
    const check = compileSchema(schema);
    return ({ payload }) => check(payload).length === 0;
  } catch (error) {
    report(`The schema is not valid: ${messageOf(error)}.`);
    return () => false;
  }
}
