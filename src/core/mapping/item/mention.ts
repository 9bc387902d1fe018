import type { MappingInput } from "../../config/schema/generated.ts";
import type { Diagnostics } from "../diagnostics.ts";
import { type Budget, compileField } from "../template/template.ts";

/** Whether what an event asks is for the agent. */
export interface MentionRule {
  mentions(context: object, budget: Budget): boolean;
  /** Why an event is skipped. */
  reason: string;
}

/** Undefined: everything that asks is for the agent. */
export function compileMention({ mention }: MappingInput, diagnostics: Diagnostics): MentionRule | undefined {
  if (!mention || mention.is === false) return undefined;
  const said = mention.said === undefined ? undefined : compileField("mention.said", mention.said, diagnostics);
  const text = mention.text === undefined ? undefined : compileField("mention.text", mention.text, diagnostics);
  const names = mention.is === true ? [] : [mention.is].flat().map((name) => name.trim());
  const isNamed = names.map(compileName);
  return {
    mentions(context, budget) {
      if (said && said.render(context, budget).trim() !== "") return true;
      if (isNamed.length === 0) return false;
      const own = withoutQuotes(text?.render(context, budget) ?? "");
      return isNamed.some((matches) => matches(own));
    },
    reason: `it does not mention ${names.length > 0 ? names.join(" or ") : "the agent"}`,
  };
}

/** The name as a whole word, in any case. One without an `@` may have it in the text. */
function compileName(name: string): (text: string) => boolean {
  const lower = name.toLowerCase();
  const maySign = !lower.startsWith("@");
  return (text) => {
    for (let at = text.indexOf(lower); at !== -1; at = text.indexOf(lower, at + 1)) {
      const start = maySign && text[at - 1] === "@" ? at - 1 : at;
      const [before, after] = [
        text.slice(Math.max(0, start - 2), start),
        text.slice(at + lower.length, at + lower.length + 3),
      ];
      if (!/[\p{L}\p{N}_@/.-]$/u.test(before) && !/^(?:[\p{L}\p{N}_@/]|[.-][\p{L}\p{N}])/u.test(after)) return true;
    }
    return false;
  };
}

/** Without lines that quote, and without code. */
function withoutQuotes(text: string): string {
  const lines: string[] = [];
  let fence: string | undefined;
  for (const line of text.toLowerCase().split("\n")) {
    const [, mark] = /^\s*(`{3,}|~{3,})/.exec(line) ?? [];
    if (fence !== undefined) {
      if (mark?.startsWith(fence)) fence = undefined;
    } else if (mark !== undefined) fence = mark;
    else if (!/^\s*(?:>|&gt;)/.test(line)) lines.push(line);
  }
  return withoutCode(lines.join("\n"));
}

/** Code stands between two equal runs of backticks. */
function withoutCode(text: string): string {
  const parts = text.split(/(`+)/);
  const ends: number[] = [];
  const later = new Map<string, number>();
  for (let index = parts.length - 2; index > 0; index -= 2) {
    const run = parts[index] ?? "";
    ends[index] = later.get(run) ?? index;
    later.set(run, index);
  }
  let own = parts[0] ?? "";
  for (let index = 1; index < parts.length; index = (ends[index] ?? index) + 2) {
    own += ` ${parts[(ends[index] ?? index) + 1] ?? ""}`;
  }
  return own;
}
