import { trimSlashes } from "../config/resolve.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import { compileExpression, type Expression } from "../config/schema/linear-regexp.ts";
import { compileSchema } from "../config/schema/validator.ts";
import { messageOf } from "../errors.ts";
import { appendSegment, readOwn } from "../shared/json.ts";
import { cutText, toOneLine } from "../shared/text.ts";
import type { HookRequest } from "../types.ts";
import { type Report, reportBacktracking } from "./report.ts";
import { type Budget, compileField, type Template } from "./template/template.ts";

/** The conditions under which a mapping takes a request; all of them must hold. */
export interface Match {
  /** The name after the hooks path; undefined: any. */
  path?: string;
  /** undefined: any. */
  source?: string;
  /** By name in lower case: the value, or `/expression/flags`. */
  headers: Record<string, string>;
  where?: unknown;
  /** All but the path, by key: `match.source`. */
  conditions: [key: string, holds: Test][];
}

type MatchInput = NonNullable<MappingInput["match"]>;
type Test = (request: HookRequest) => boolean;

export function compileMatch(match: MatchInput, report: Report): Match {
  const headers = Object.entries(match.headers ?? {});
  const conditions = headers.map(([name, pattern]): [string, Test] => [
    appendSegment("match.headers", name),
    compileHeader(name, pattern, report),
  ]);
  if (match.source !== undefined) {
    conditions.push(["match.source", ({ payload }) => readOwn(payload, "source") === match.source]);
  }
  if (match.where !== undefined) conditions.push(["match.where", compileWhere(match.where, report)]);
  return {
    path: match.path === undefined ? undefined : trimSlashes(match.path),
    source: match.source,
    headers: Object.fromEntries(headers.map(([name, pattern]) => [name.toLowerCase(), pattern])),
    where: match.where,
    conditions,
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

/** Names the events of a mapping, and decides which of them lead to no action. */
export interface Filter {
  /** The name of the event that the context is about; undefined: the mapping has no `event`, or it renders blank. */
  nameEvent(context: object, budget: Budget): string | undefined;
  /** Why the event is skipped; undefined: it is not. */
  findReason(event: string | undefined, context: object, budget: Budget): string | undefined;
}

/** undefined: no event is skipped, and none has a name. */
export function compileFilter({ event, events, ignore = [] }: MappingInput, report: Report): Filter | undefined {
  if (event === undefined && !events && ignore.length === 0) return undefined;
  const name = event === undefined ? undefined : compileField("event", event, report);
  const isWanted = events && compileGlobs(events);
  const rules = compileRules(ignore, report);
  if (events && event === undefined) report.problem("events", "Set event too: the template of the event's name.");
  return {
    nameEvent: (context, budget) => (name && toOneLine(name.render(context, budget))) || undefined,
    findReason(found, context, budget) {
      if (isWanted && !isWanted(found ?? "")) return `the event ${found ?? "without a name"} is not one of events`;
      for (const rule of rules) {
        const reason = rule(context, budget);
        if (reason !== undefined) return reason;
      }
      return undefined;
    },
  };
}

/** The mappings of a preset share most rules. */
const compiled = new WeakMap<IgnoreInput[], Rule[]>();

function compileRules(ignore: IgnoreInput[], report: Report): Rule[] {
  const known = compiled.get(ignore);
  if (known) return known;
  const rules = ignore.map((rule, index) => compileRule(rule, `ignore[${index}]`, report));
  compiled.set(ignore, rules);
  return rules;
}

type Rule = (context: object, budget: Budget) => string | undefined;

function compileRule({ value, is, isNot, reason }: IgnoreInput, key: string, report: Report): Rule {
  const template = compileField(`${key}.value`, value, report);
  const matches = compileGlobs([is ?? []].flat());
  const wanted = isNot && compileField(`${key}.isNot`, [isNot].flat().join("\n"), report);
  return (context, budget) => {
    const lines = renderLines(template, context, budget);
    const found = lines.find(matches);
    if (found !== undefined) return toReason(reason, found);
    if (!wanted || lines.some(compileGlobs(renderLines(wanted, context, budget)))) return undefined;
    return toReason(reason, lines[0]);
  };
}

/** The lines of a rendered text that are not blank. */
function renderLines(template: Template | undefined, context: object, budget: Budget): string[] {
  const lines = template?.render(context, budget).split("\n") ?? [];
  return lines.map((line) => line.trim()).filter((line) => line !== "");
}

function toReason(reason: string, found: string | undefined): string {
  return found === undefined ? reason : `${reason} (${cutText(toOneLine(found), MAX_SHOWN)})`;
}

type IgnoreInput = NonNullable<MappingInput["ignore"]>[number];

const MAX_SHOWN = 60;

/** Tests a text against patterns in which `*` stands for any characters, without regard to case, in linear time. */
export function compileGlobs(globs: readonly string[]): (text: string) => boolean {
  const patterns = globs.map((glob) => glob.toLowerCase().split("*"));
  return (text) => {
    const lower = text.toLowerCase();
    return patterns.some((pieces) => matchesPieces(lower, pieces));
  };
}

/** Whether the pieces occur in order, the first at the start and the last at the end. */
function matchesPieces(text: string, [first = "", ...others]: readonly string[]): boolean {
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of others) {
    const found = text.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return text.length - at >= last.length && text.endsWith(last);
}
