import { hash } from "node:crypto";
import { HookError } from "../../errors.ts";
import type { HookAction, Resolution } from "../../types.ts";
import type { RenderedKey } from "../template/template.ts";

/** A wake needs no key, because a heartbeat takes all pending ones. Several actions of one item are numbered. */
export function coalesceActions(
  actions: HookAction[],
  windowMs: number,
  rendered: RenderedKey | undefined,
): HookAction[] {
  const key = toKey(rendered);
  if (key === undefined) return actions;
  return actions.map((action, index) =>
    action.kind === "agent" ? { ...action, coalesce: { key: numberKey(key, index), windowMs } } : action,
  );
}

type Idempotency = NonNullable<Resolution["idempotency"]>;

/** In characters. A longer key of a template is replaced by its hash; a longer header is refused. */
const MAX_KEY_LENGTH = 255;
const VISIBLE = /^[\x21-\x7e]+$/;

/** Throws a `HookError` if an `Idempotency-Key` header is not a valid key. */
export function requireIdempotencyKey(key: string): void {
  if (key.length <= MAX_KEY_LENGTH && VISIBLE.test(key)) return;
  const message = `Idempotency-Key must be 1 to ${MAX_KEY_LENGTH} visible ASCII characters.`;
  throw new HookError("invalid_idempotency_key", { message });
}

/** A key from header or body. The same key with other content is the caller's mistake. */
export function toChosenKey(key: string): Idempotency {
  return { keys: [key], perAction: false, conflictOnOtherContent: true };
}

/** The key of the whole event, from the `dedupe` template; none if it is blank or incomplete. */
export function toEventKey(rendered: RenderedKey | undefined): Idempotency | undefined {
  const key = toKey(rendered);
  return key === undefined ? undefined : { keys: [key], perAction: false, conflictOnOtherContent: false };
}

/** One key per action. An item without a key has an empty one, and never counts as a duplicate. */
export function toItemKeys(items: readonly { dedupe?: RenderedKey; actions: HookAction[] }[]): Idempotency | undefined {
  const keys = items.flatMap(({ dedupe, actions }) => {
    const key = toKey(dedupe);
    return actions.map((_, index) => (key === undefined ? "" : numberKey(key, index)));
  });
  return keys.length === 0 ? undefined : { keys, perAction: true, conflictOnOtherContent: false };
}

/** The key of the action at `index` among those that one item became. */
function numberKey(key: string, index: number): string {
  return index === 0 ? key : `${key}#${index + 1}`;
}

/** The rendered text as a key; none if it is blank or incomplete. */
function toKey(rendered: RenderedKey | undefined): string | undefined {
  if (!rendered || rendered.incomplete) return undefined;
  const key = rendered.text.trim();
  if (key.length <= MAX_KEY_LENGTH) return key || undefined;
  return `sha256:${hash("sha256", key)}`;
}
