import type { ActionOverride } from "../config/schema/generated.ts";
import { tidyText, toOneLine } from "../shared/text.ts";
import { type HookAction, toChannelName, type WakeMode } from "../types.ts";
import type { CompiledMapping, TemplateField } from "./compile.ts";
import type { Budget } from "./template/template.ts";

/**
 * An action under construction, before defaults and policy. It can still become either kind, so it may hold fields of both;
 * `mode` is the `mode` of a wake or the `wakeMode` of an agent action.
 */
export interface Draft extends Settings {
  kind: HookAction["kind"];
  /** Any text, because a template can render anything. */
  channel?: string;
  mode?: WakeMode;
  /** The channel was `source`, and stands for this place now. */
  toSource?: true;
}

type Settings = { [Field in Exclude<keyof Fields, "channel">]?: NonNullable<Fields[Field]> };
type Fields = Omit<ActionOverride, "kind" | "mode" | "wakeMode">;

/** A draft with the defaults that need no configuration. No field is blank, except the text or the message. */
export type FilledDraft = Draft &
  Required<Pick<Draft, "name" | "deliver" | "channel" | "mode" | "allowUnsafeExternalContent">>;

/** The draft that the mapping's settings and templates give, without its session key. */
export function renderDraft({ source, templates }: CompiledMapping, context: object, budget: Budget): Draft {
  const { mapping } = source;
  const render = (field: TemplateField): string | undefined => templates[field]?.render(context, budget);
  const renderText = (field: TemplateField): string | undefined => tidyText(render(field), mapping.maxMessageLength);
  return {
    kind: mapping.action ?? "agent",
    text: renderText("textTemplate"),
    message: renderText("messageTemplate"),
    name: render("name"),
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

export function fillDraft(draft: Draft, defaultName: string): FilledDraft {
  return {
    ...draft,
    name: toOneLine(draft.name ?? "") || toOneLine(defaultName),
    sessionKey: blankToUndefined(draft.sessionKey),
    deliver: draft.deliver ?? true,
    channel: toChannelName(blankToUndefined(draft.channel) ?? "last"),
    to: blankToUndefined(draft.to),
    model: blankToUndefined(draft.model),
    thinking: blankToUndefined(draft.thinking),
    mode: draft.mode ?? "now",
    allowUnsafeExternalContent: draft.allowUnsafeExternalContent ?? false,
  };
}

/** The text of a wake or the message of an agent action. */
export function textOf({ kind, text, message }: Draft): string | undefined {
  return kind === "wake" ? text : message;
}

/** The draft in the field names of a transform's `base`. */
export function toBase({ text, message, mode, kind, allowUnsafeExternalContent, ...rest }: FilledDraft): object {
  if (kind === "wake") return { kind, text, mode, allowUnsafeExternalContent };
  return { kind, message, wakeMode: mode, ...rest, allowUnsafeExternalContent };
}

/** Applies a transform's result: null clears a field, any other value replaces the base's. */
export function mergeOverride(base: Draft, { kind, mode, wakeMode, ...fields }: ActionOverride): Draft {
  const merged: Draft = { ...base, ...nullsToUndefined(fields), kind: kind ?? base.kind };
  // Both spellings of the mode work in both kinds; the kind's own takes precedence.
  const [own, other] = merged.kind === "wake" ? [mode, wakeMode] : [wakeMode, mode];
  const given = own === undefined ? other : own;
  return given === undefined ? merged : { ...merged, mode: given ?? undefined };
}

function nullsToUndefined(fields: Fields): { [Field in keyof Fields]: NonNullable<Fields[Field]> | undefined } {
  const cleared: Record<string, unknown> = fields;
  return Object.fromEntries(Object.entries(cleared).map(([field, value]) => [field, value ?? undefined]));
}

function blankToUndefined(text: string | undefined): string | undefined {
  return text?.trim() || undefined;
}
