import { callTransform, type TransformCall, transformFailed } from "./call-transform.ts";
import { type Draft, textOf } from "./draft.ts";
import { mergeOverride } from "./merge.ts";

/**
 * What a mapping's transform makes of the draft that its templates gave; none: the transform skips. Throws a 500
 * `HookError` where it fails or makes an action that lacks its text or message.
 */
export async function transformDraft(base: Draft, call: TransformCall): Promise<Draft[]> {
  const overrides = await callTransform(call);
  const drafts = overrides?.map((override) => mergeOverride(base, override)) ?? [base];
  // A base that a template left blank is the payload's doing, and told to its sender.
  const isOwnDoing = overrides !== undefined || textOf(base) === undefined;
  const blank = drafts.find((draft) => !textOf(draft)?.trim());
  if (blank && isOwnDoing) throw transformFailed({ message: toBlankMessage(blank), log: call.log });
  return drafts;
}

function toBlankMessage({ kind }: Draft): string {
  return kind === "wake"
    ? "The transform makes a wake without text (message belongs to an agent action)."
    : "The transform makes an agent action without message (text belongs to a wake).";
}
