import type { ActionOverride } from "../config/schema/generated.ts";
import type { HookAction, WakeMode } from "../types.ts";
import type { CompiledMapping, TemplateField } from "./compiled-mapping.ts";
import type { Budget } from "./template/template.ts";

/** An action on its way: what was given, before defaults and policy. It can still become either kind. */
export interface Draft {
  kind: HookAction["kind"];
  /** Of a wake. */
  text?: string;
  /** Of an agent action, as all the fields below but the last two. */
  message?: string;
  name?: string;
  sessionKey?: string;
  deliver?: boolean;
  channel?: string;
  to?: string;
  model?: string;
  thinking?: string;
  timeoutSeconds?: number;
  /** `mode` of a wake, `wakeMode` of an agent action. */
  mode?: WakeMode;
  allowUnsafeExternalContent?: boolean;
}

/** A draft with the defaults that need no configuration, and with no field that is blank but the text or the message. */
export type FilledDraft = Draft &
  Required<Pick<Draft, "name" | "deliver" | "channel" | "mode" | "allowUnsafeExternalContent">>;

/** What a mapping's own fields and templates give. */
export function renderDraft({ source, templates }: CompiledMapping, context: object, budget: Budget): Draft {
  const { mapping } = source;
  const render = (field: TemplateField): string | undefined => templates[field]?.render(context, budget);
  return {
    kind: mapping.action ?? "agent",
    text: render("textTemplate"),
    message: render("messageTemplate"),
    name: render("name"),
    sessionKey: render("sessionKey"),
    deliver: mapping.deliver,
    channel: render("channel"),
    to: render("to"),
    model: render("model"),
    thinking: render("thinking"),
    timeoutSeconds: mapping.timeoutSeconds,
    mode: mapping.wakeMode,
    allowUnsafeExternalContent: mapping.allowUnsafeExternalContent,
  };
}

/** `defaultName` stands in where the draft has no name. */
export function fillDraft(draft: Draft, defaultName: string): FilledDraft {
  return {
    ...draft,
    name: toOneLine(draft.name ?? "") || toOneLine(defaultName),
    sessionKey: toGiven(draft.sessionKey),
    deliver: draft.deliver ?? true,
    channel: toGiven(draft.channel) ?? "last",
    to: toGiven(draft.to),
    model: toGiven(draft.model),
    thinking: toGiven(draft.thinking),
    mode: draft.mode ?? "now",
    allowUnsafeExternalContent: draft.allowUnsafeExternalContent ?? false,
  };
}

/** The field that an action of its kind cannot do without. */
export function textOf({ kind, text, message }: Draft): string | undefined {
  return kind === "wake" ? text : message;
}

/** The draft in the fields that a transform knows. */
export function toBase({ text, message, mode, kind, allowUnsafeExternalContent, ...rest }: FilledDraft): object {
  if (kind === "wake") return { kind, text, mode, allowUnsafeExternalContent };
  return { kind, message, wakeMode: mode, ...rest, allowUnsafeExternalContent };
}

const MAX_NAME_LENGTH = 80;

/** The name stands in summaries outside the safety boundary: it must not be able to look like more than a name. */
function toOneLine(name: string): string {
  const line = name.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return Array.from(line.slice(0, 2 * MAX_NAME_LENGTH))
    .slice(0, MAX_NAME_LENGTH)
    .join("")
    .trim();
}

function toGiven(text: string | undefined): string | undefined {
  return text?.trim() || undefined;
}

/** A transform's result over what the templates gave: null clears a field, any other value wins. */
export function mergeOverride(base: Draft, override: ActionOverride): Draft {
  const { kind, mode, wakeMode, ...fields } = override;
  const merged: Draft = { ...base, ...clearNulls(fields), kind: kind ?? base.kind };
  const given = merged.kind === "wake" ? pickFirst(mode, wakeMode) : pickFirst(wakeMode, mode);
  return given === undefined ? merged : { ...merged, mode: given ?? undefined };
}

type Fields = Omit<ActionOverride, "kind" | "mode" | "wakeMode">;

function clearNulls(fields: Fields): { [Field in keyof Fields]: NonNullable<Fields[Field]> | undefined } {
  const cleared: Record<string, unknown> = fields;
  return Object.fromEntries(Object.entries(cleared).map(([field, value]) => [field, value ?? undefined]));
}

/** Either spelling of the mode works in both kinds; the kind's own goes first. */
function pickFirst(own: WakeMode | null | undefined, other: WakeMode | null | undefined): WakeMode | null | undefined {
  return own === undefined ? other : own;
}
