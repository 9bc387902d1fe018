import { appendSegment, toText } from "../../shared/json.ts";
import { didYouMean } from "../../shared/text/text.ts";
import { error, type Finding } from "../rules/finding.ts";
import type { Preset } from "../schema/generated.ts";

// The parameters `from` and `mention`: who may start a turn by an event of a preset, and by which.

type From = NonNullable<Preset["from"]>;

export function toFromSchema({ default: usual, forms }: From): Record<string, unknown> {
  const otherwise = usual ? `Default: ${usual.join(", ")}` : "It must be written";
  return {
    type: ["string", "array"],
    minLength: 1,
    items: { type: "string", minLength: 1 },
    description: `Who may start a turn: ${listForms(forms)}; with ! in front never. [] is nobody. ${otherwise}.`,
  };
}

function listForms(forms: readonly string[]): string {
  return [...forms, ANYONE].join(", ");
}

const ANYONE = "anyone";

/** The entries that count. A list of exclusions alone adds to the default. Undefined: nobody has said who may start a turn. */
export function resolveFrom({ default: usual }: From, given: unknown): string[] | undefined {
  if (given === undefined) return usual;
  const entries = [given].flat().map((entry) => toText(entry).trim());
  const onlyExcludes = entries.length > 0 && entries.every((entry) => entry.startsWith("!"));
  return onlyExcludes ? usual && [...usual, ...entries] : entries;
}

/** `at`: the use of the preset. `key`: its `from`. */
export function checkFrom(
  preset: Preset,
  values: Readonly<Record<string, unknown>>,
  { at, key }: { at: string; key: string },
): Finding[] {
  const { name, from } = preset;
  if (!from) return [];
  const { from: given, action } = values;
  if (resolveFrom(from, given) === undefined && action !== "none") {
    const message = `Anyone in the world can write to ${name}. Set with.from: ids such as "${name}:42", or "anyone".`;
    return [error(at, message)];
  }
  return [given ?? []].flat().flatMap((entry, index) => {
    const own = toText(entry).trim().replace(/^!\s*/, "");
    if (own === ANYONE || from.forms.some((form) => isOfForm(own, form))) return [];
    const words = [...from.forms.filter((form) => !form.includes("<")), ANYONE];
    const meant = didYouMean(own, words, `. Expected ${listForms(from.forms)}.`);
    return [error(Array.isArray(given) ? appendSegment(key, index) : key, `"${own}" names nobody${meant}`)];
  });
}

/** An entry of no form would let nobody in, or exclude nobody. */
function isOfForm(entry: string, form: string): boolean {
  const parts = form.split(/<[^>]*>/).map((part) => RegExp.escape(part));
  return new RegExp(`^${parts.join("\\S+")}$`, "i").test(entry);
}

export const MENTION_SCHEMA = {
  type: ["boolean", "string", "array"],
  pattern: "\\S",
  items: { type: "string", pattern: "\\S", description: "A name, as @bot." },
  description:
    "Messages that ask must name the agent: by this name, one of a list, or with true as the sender says it. A thread in which the agent has spoken counts. false: off.",
};

/** Without the sender's word, only a name can be looked for. */
export function checkMention({ name, mention }: Preset, given: unknown, key: string): Finding[] {
  if (given !== true || mention?.says) return [];
  return [error(key, `${name} does not say whom a text mentions. Name the agent, as "@bot".`)];
}
