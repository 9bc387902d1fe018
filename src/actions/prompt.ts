import type { HookAction } from "../types.ts";
import { type Origin, wrapExternal } from "./boundary.ts";

/** An action's text as an agent sees it: inside the boundary, unless the mapping switched it off. */
export function toPrompt(
  text: string,
  action: Pick<HookAction, "allowUnsafeExternalContent" | "instructions">,
  origin: Origin,
): string {
  const { allowUnsafeExternalContent, instructions } = action;
  if (!allowUnsafeExternalContent) return wrapExternal(text, { ...origin, instructions });
  return instructions ? `${instructions}\n\n${text}` : text;
}
