import type { MappingInput } from "../config/schema/generated.ts";
import { cutText, toOneLine } from "../shared/text.ts";
import type { Report } from "./report.ts";
import { compileField } from "./template/compile-field.ts";
import type { Budget, Template } from "./template/template.ts";

/** Names the events of a mapping, and decides which of them lead to no action. */
export interface Filter {
  /** The name of the event that the context is about; undefined: the mapping has no `event`, or it renders blank. */
  nameEvent(context: object, budget: Budget): string | undefined;
  /** Why the event is skipped; undefined: it is not. */
  findReason(event: string | undefined, context: object, budget: Budget): string | undefined;
}

export function compileFilter({ event, events, ignore = [] }: MappingInput, report: Report): Filter {
  const name = event === undefined ? undefined : compileField("event", event, report);
  const isWanted = events && compileGlobs(events);
  const rules = compileRules(ignore, report);
  if (events && event === undefined) report.problem("events", "Set event too: the template of the event's name.");
  return {
    nameEvent: (context, budget) => toOneLine(name?.render(context, budget) ?? "") || undefined,
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
