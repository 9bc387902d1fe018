import type { MappingInput, ValuePattern } from "../config/schema/generated.ts";
import { findOptionalConstants, findUnknownKeywords, toUnknownKeyword } from "../config/schema/keywords.ts";
import { compilePayloadCheck } from "../config/schema/validator.ts";
import { messageOf } from "../errors.ts";
import { appendSegment, isObject, readOwn, toKeyPath } from "../shared/json.ts";
import { exactPayload } from "../shared/exact-json.ts";
import { cutText, toOneLine, trimSlashes } from "../shared/text/text.ts";
import type { HookRequest } from "../types.ts";
import { compileGlobs, compilePattern, isLongNumber, parsePayloadPath, readValues } from "./pattern.ts";
import type { Diagnostics } from "./diagnostics.ts";
import { type Budget, compileField } from "./template/template.ts";

/** The conditions under which a mapping takes a request; all of them must hold. */
export interface Match {
  /** The name after the hooks path; undefined: any. */
  path?: string;
  /** undefined: any. */
  source?: string;
  /** By name in lower case. */
  headers: Record<string, ValuePattern>;
  /** By path. */
  payload: Record<string, ValuePattern>;
  where?: unknown;
  /** A condition is about the payload. */
  readsPayload: boolean;
  /** All but the path, by key: `match.source`. */
  conditions: [key: string, holds: Test][];
}

type MatchInput = NonNullable<MappingInput["match"]>;
type Test = (request: HookRequest) => boolean;

export function compileMatch(match: MatchInput, diagnostics: Diagnostics): Match {
  const headers = Object.entries(match.headers ?? {});
  const conditions = headers.map(([name, pattern]): [string, Test] => [
    appendSegment("match.headers", name),
    compileHeader(name, pattern, diagnostics),
  ]);
  if (match.source !== undefined) {
    conditions.push(["match.source", ({ payload }) => readOwn(payload, "source") === match.source]);
  }
  const fields = Object.entries(match.payload ?? {});
  for (const [path, pattern] of fields) {
    conditions.push([appendSegment("match.payload", path), compilePayload(path, pattern, diagnostics)]);
  }
  if (match.where !== undefined) conditions.push(["match.where", compileWhere(match.where, diagnostics)]);
  return {
    path: match.path === undefined ? undefined : trimSlashes(match.path),
    source: match.source,
    headers: Object.fromEntries(headers.map(([name, pattern]) => [name.toLowerCase(), pattern])),
    payload: match.payload ?? {},
    where: match.where,
    readsPayload: match.source !== undefined || match.where !== undefined || fields.length > 0,
    conditions,
  };
}

/** A header is text, so a number or boolean stands for its text. */
function compileHeader(written: string, pattern: ValuePattern, diagnostics: Diagnostics): Test {
  const name = written.toLowerCase();
  const matches = compilePattern(toTexts(pattern), appendSegment("match.headers", written), diagnostics);
  return ({ headers }) => matches(readOwn(headers, name));
}

function toTexts(pattern: ValuePattern): ValuePattern {
  if (isObject(pattern)) return { not: [pattern.not].flat().map(String) };
  return [pattern].flat().map(String);
}

/** A field of exactly this name is meant before a path. */
function compilePayload(written: string, pattern: ValuePattern, diagnostics: Diagnostics): Test {
  const key = appendSegment("match.payload", written);
  const matches = compilePattern(pattern, key, diagnostics);
  const path = parsePayloadPath(written) ?? [];
  if (path.length === 0)
    diagnostics.problem(key, `"${written}" is not a valid path. Examples: action, issue.state, labels[*].name.`);
  const read = (payload: unknown): unknown[] =>
    isObject(payload) && Object.hasOwn(payload, written) ? [payload[written]].flat() : readValues(payload, path);
  return (request) => {
    const values = read(request.payload);
    return matches(values.some(isLongNumber) ? read(exactPayload(request)) : values);
  };
}

function compileWhere(schema: unknown, diagnostics: Diagnostics): Test {
  try {
    const check = compilePayloadCheck(schema, "where", () => reportWhere(schema, diagnostics));
    return ({ payload }) => check(payload).length === 0;
  } catch (error) {
    diagnostics.problem("match.where", `The schema is not valid: ${messageOf(error)}.`);
    return () => false;
  }
}

/** Reports keywords that the schema ignores, and constants that it leaves open: both match everything. Gives whether it has any. */
function reportWhere(schema: unknown, diagnostics: Diagnostics): boolean {
  const unknown = findUnknownKeywords(schema);
  for (const { key, name, nearest } of unknown) {
    const remedy = nearest
      ? `Did you mean "${nearest}"?`
      : key === name
        ? `To compare a field of the payload, use match.payload: { ${toKeyPath([name])}: … }.`
        : "";
    diagnostics.problem(`match.where.${key}`, `${toUnknownKeyword(name)} ${remedy}`.trim());
  }
  const constants = findOptionalConstants(schema);
  for (const { key, name } of constants) {
    const message = `A payload without "${name}" matches too: add "${name}" to required beside properties, or use match.payload.`;
    diagnostics.warning(`match.where.${key}`, message);
  }
  return unknown.length + constants.length > 0;
}

/** Names the events of a mapping, and decides which of them lead to no action. */
export interface Filter {
  /** The name of the event that the context is about; undefined: the mapping has no `event`, or it renders blank. */
  nameEvent(context: object, budget: Budget): string | undefined;
  /** Why the event is skipped; undefined: it is not. */
  findReason(event: string | undefined, context: object, budget: Budget, about?: About): string | undefined;
}

/** Knowledge of an event besides its fields. */
interface About {
  isOwn?: IsOwn;
  /** The operator has named its author. */
  isNamed?: boolean;
}

/** Whether a comment, or the id of one, has a mark that only this service can make. */
export type IsOwn = (comment: string) => boolean;

/** undefined: no event is skipped, and none has a name. */
export function compileFilter(
  { event, events, ignore = [] }: MappingInput,
  diagnostics: Diagnostics,
): Filter | undefined {
  if (event === undefined && !events && ignore.length === 0) return undefined;
  const name = event === undefined ? undefined : compileField("event", event, diagnostics);
  const isWanted = events && compileGlobs(events);
  const rules = compileRules(ignore, diagnostics);
  if (events && event === undefined) diagnostics.problem("events", "Set event too: the template of the event's name.");
  return {
    nameEvent: (context, budget) => (name && toOneLine(name.render(context, budget))) || undefined,
    findReason(found, context, budget, about = {}) {
      if (isWanted && !isWanted(found ?? "")) return `the event ${found ?? "without a name"} is not one of events`;
      for (const rule of rules) {
        const reason = rule(context, budget, about);
        if (reason !== undefined) return reason;
      }
      return undefined;
    },
  };
}

/** The mappings of a preset share most rules. */
const compiled = new WeakMap<IgnoreInput[], Rule[]>();

function compileRules(ignore: IgnoreInput[], diagnostics: Diagnostics): Rule[] {
  const known = compiled.get(ignore);
  if (known) return known;
  const rules = ignore.map((rule, index) => compileRule(rule, `ignore[${index}]`, diagnostics));
  compiled.set(ignore, rules);
  return rules;
}

type Rule = (context: object, budget: Budget, about: About) => string | undefined;

function compileRule(
  { value, is, isNot, isOwn: asksOwn, unlessNamed, reason }: IgnoreInput,
  key: string,
  diagnostics: Diagnostics,
): Rule {
  const template = compileField(`${key}.value`, value, diagnostics);
  const matches = compileGlobs([is ?? []].flat());
  const wanted = isNot && compileField(`${key}.isNot`, [isNot].flat().join("\n"), diagnostics);
  return (context, budget, { isOwn, isNamed }) => {
    if (unlessNamed && isNamed) return undefined;
    const text = template?.render(context, budget) ?? "";
    if (asksOwn && isOwn?.(text)) return reason;
    const lines = toLines(text);
    const found = lines.find(matches);
    if (found !== undefined) return toReason(reason, found);
    if (!wanted || lines.some(compileGlobs(toLines(wanted.render(context, budget))))) return undefined;
    return toReason(reason, lines[0]);
  };
}

/** The lines that are not blank. */
function toLines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function toReason(reason: string, found: string | undefined): string {
  return found === undefined ? reason : `${reason} (${cutText(toOneLine(found), MAX_SHOWN)})`;
}

type IgnoreInput = NonNullable<MappingInput["ignore"]>[number];

const MAX_SHOWN = 60;
