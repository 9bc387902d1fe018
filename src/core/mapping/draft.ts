import type { ActionOverride, MappingInput } from "../config/schema/generated.ts";
import type { TemplateField } from "../config/settings.ts";
import { pick } from "../shared/json.ts";
import { toChannelName } from "../shared/channel-names.ts";
import { blankToUndefined, cutText, tidyText, toOneLine } from "../shared/text/text.ts";
import { type Grant, type HookAction, WAKE_MODES, type WakeMode } from "../types.ts";
import type { CompiledMapping } from "./compile.ts";
import { renderTargets, type TargetDraft } from "./policy/targets.ts";
import type { Budget } from "./template/template.ts";

/** One field of an action. Without `template` and `setting`, its own code gives it. */
interface Field<From, Value> {
  /** The setting of a mapping whose template gives it. */
  template?: TemplateField;
  /** A mapping gives it as the setting of its name. */
  setting?: true;
  /** Its value from what a request, a mapping or a transform gives; undefined: nothing is given. `hook`: the name of the hook. */
  read(given: From | undefined, hook: string): Value;
}

/** The fields of an action before policy. `mode` is the `mode` of a wake, and the `wakeMode` of an agent action. */
const FIELDS = {
  text: { template: "textTemplate", read: asGiven<string> },
  message: { template: "messageTemplate", read: asGiven<string> },
  mode: { read: (given: WakeMode | undefined): WakeMode => given ?? "now" },
  name: {
    template: "name",
    read: (given: string | undefined, hook: string) => (given && toOneLine(given)) || toOneLine(hook),
  },
  sessionKey: { read: blankToUndefined },
  deliver: { read: (given: boolean | undefined) => given ?? true },
  channel: {
    template: "channel",
    read: (given: string | undefined) => toChannelName(blankToUndefined(given) ?? "last"),
  },
  to: { template: "to", read: blankToUndefined },
  model: { template: "model", read: blankToUndefined },
  thinking: { template: "thinking", read: blankToUndefined },
  timeoutSeconds: { setting: true, read: asGiven<number> },
  agentId: { setting: true, read: asGiven<string> },
  accountId: { setting: true, read: asGiven<string> },
  sessionMode: { setting: true, read: asGiven<NonNullable<MappingInput["sessionMode"]>> },
  allowUnsafeExternalContent: { setting: true, read: (given: boolean | undefined) => given ?? false },
  grants: { read: asGiven<Grant[]> },
  /** The targets of the mapping's `deliver`, instead of `channel` and `to`. After `toTargets`: every target of the reply. */
  targets: { read: asGiven<TargetDraft[]> },
} as const satisfies Record<string, Field<never, unknown>>;

type Rows = typeof FIELDS;
type FieldName = keyof Rows;
type NamesOf<Columns> = { [Name in FieldName]: Rows[Name] extends Columns ? Name : never }[FieldName];
type Values = { [Name in FieldName]: ReturnType<Rows[Name]["read"]> };
type GivenValues = { [Name in FieldName]?: Parameters<Rows[Name]["read"]>[0] | null };

/** An action before policy, with every default that needs no configuration. It holds the fields of both kinds, because it can still become either. */
export interface Draft extends Values {
  kind: HookAction["kind"];
}

/** The fields of an action that are given. Null clears a field. */
export interface Given extends GivenValues {
  kind?: Draft["kind"] | null;
}

const BY_TEMPLATE = namesOf<NamesOf<{ template: TemplateField }>>(({ template }) => template !== undefined);
const BY_SETTING = namesOf<NamesOf<{ setting: true }>>(({ setting }) => setting === true);
/** `FIELDS` by its types, so that a field's value fits its name. */
const READERS: {
  [Name in FieldName]: { read(given: NonNullable<GivenValues[Name]> | undefined, hook: string): Values[Name] };
} = FIELDS;
/** The draft of nothing. Only its name depends on the hook. */
const EMPTY: Draft = Object.fromEntries([
  ["kind", "agent"],
  ...namesOf<FieldName>(() => true).map((name) => [name, READERS[name].read(undefined, "")]),
]);

/** A draft of what is given, over another one: undefined keeps the other's value, null clears it. */
export function toDraft(given: Given, hook: string, over?: Draft): Draft {
  const draft: Draft = over ? { ...over } : { ...EMPTY, name: READERS.name.read(undefined, hook) };
  draft.kind = given.kind ?? draft.kind;
  // Most fields are not given, and to read all of them takes ten times as long.
  for (const name of Object.keys(given)) {
    if (isField(name) && given[name] !== undefined) setField(draft, name, { given: given[name], hook });
  }
  return draft;
}

function setField<Name extends FieldName>(
  draft: Values,
  name: Name,
  { given, hook }: { given: GivenValues[Name]; hook: string },
): void {
  draft[name] = READERS[name].read(given ?? undefined, hook);
}

/** The fields that a mapping's settings and templates give, apart from `mode`, `sessionKey` and `grants`. */
export function renderGiven(
  { source: { mapping }, templates, targets }: CompiledMapping,
  context: object,
  budget: Budget,
): Given {
  const { action = "agent", deliver, maxMessageLength } = mapping;
  const given: Given = { ...pick(mapping, BY_SETTING), kind: action };
  for (const name of BY_TEMPLATE) {
    const text = templates[FIELDS[name].template]?.render(context, budget);
    if (text !== undefined)
      given[name] = name === "text" || name === "message" ? tidyText(text, maxMessageLength) : text;
  }
  given.deliver = Array.isArray(deliver) ? deliver.length > 0 : deliver;
  if (targets) given.targets = renderTargets(targets, context, budget);
  return given;
}

/** The mode that a mapping's template gives; without one the default counts. */
export function renderWakeMode(
  { templates }: CompiledMapping,
  context: object,
  budget: Budget,
): { mode?: WakeMode; warning?: string } {
  const text = toOneLine(templates.wakeMode?.render(context, budget) ?? "");
  const mode = WAKE_MODES.find((known) => known === text);
  if (mode !== undefined || text === "") return { mode };
  return { warning: `wakeMode is now, because "${cutText(text, MAX_SHOWN)}" is not one of ${WAKE_MODES.join(", ")}.` };
}

const MAX_SHOWN = 60;

/** The text of a wake or the message of an agent action. */
export function textOf({ kind, text, message }: Pick<Draft, "kind" | "text" | "message">): string | undefined {
  return kind === "wake" ? text : message;
}

/** The draft in the field names of a transform's `base`. Where the mapping lists its targets, the base names no other place. */
export function toBase(draft: Draft): object {
  const { text, message, mode, kind, allowUnsafeExternalContent, channel, to, targets, grants: _, ...rest } = draft;
  if (kind === "wake") return { kind, text, mode, allowUnsafeExternalContent };
  const place = targets ? {} : { channel, to };
  return { kind, message, wakeMode: mode, ...rest, ...place, allowUnsafeExternalContent };
}

/** The fields that a transform's result gives, apart from `deliver`. Both spellings of the mode work in both kinds; the kind's own takes precedence. */
export function toGiven(override: ActionOverride, base: Draft): Given {
  const { mode, wakeMode, deliver: _, ...fields } = override;
  const [own, other] = (fields.kind ?? base.kind) === "wake" ? [mode, wakeMode] : [wakeMode, mode];
  return { ...fields, mode: own === undefined ? other : own };
}

function asGiven<Value>(given: Value | undefined): Value | undefined {
  return given;
}

function namesOf<Name extends FieldName>(isOne: (field: Field<never, unknown>) => boolean): Name[] {
  return Object.keys(FIELDS).filter((name): name is Name => isField(name) && isOne(FIELDS[name]));
}

function isField(name: string): name is FieldName {
  return Object.hasOwn(FIELDS, name);
}
