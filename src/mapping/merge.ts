import type { ActionOverride } from "../config/generated.ts";
import type { WakeMode } from "../types.ts";
import type { Draft } from "./draft.ts";

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
function pickFirst(
  own: WakeMode | null | undefined,
  other: WakeMode | null | undefined,
): WakeMode | null | undefined {
  return own === undefined ? other : own;
}
