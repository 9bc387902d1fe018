import { createHash } from "node:crypto";
import { HookError } from "../errors.ts";
import { createId } from "../shared/id.ts";
import type { HookRequest, Resolution } from "../types.ts";

type Idempotency = NonNullable<Resolution["idempotency"]>;

/** In characters. A longer key of a template is replaced by its hash; a longer header is refused. */
const MAX_KEY_LENGTH = 255;
const VISIBLE = /^[\x21-\x7e]+$/;

/** Throws a `HookError` if the `Idempotency-Key` header is present and not a valid key. */
export function requireIdempotencyKey({ idempotencyKey: key }: HookRequest): void {
  if (key === undefined || (key.length <= MAX_KEY_LENGTH && VISIBLE.test(key))) return;
  const message = `Idempotency-Key must be 1 to ${MAX_KEY_LENGTH} visible ASCII characters.`;
  throw new HookError("invalid_idempotency_key", { message });
}

/** A key from header or body. The same key with other content is the caller's mistake. */
export function toChosenKey(key: string | undefined): Idempotency | undefined {
  return key === undefined ? undefined : { keys: [key], perAction: false, conflictOnOtherContent: true };
}

/** The key of the whole event, from the `dedupe` template; none if that renders blank. */
export function toEventKey(rendered: string | undefined): Idempotency | undefined {
  const key = toKey(rendered);
  return key === undefined ? undefined : { keys: [key], perAction: false, conflictOnOtherContent: false };
}

/** One key per action, from the `dedupe` template of each item. An item without a key never counts as a duplicate. */
export function toItemKeys(items: { rendered: string | undefined; actions: number }[]): Idempotency | undefined {
  const keys = items.flatMap(({ rendered, actions }) => {
    const key = toKey(rendered) ?? createId();
    return Array.from({ length: actions }, (_, index) => numberKey(key, index));
  });
  return keys.length === 0 ? undefined : { keys, perAction: true, conflictOnOtherContent: false };
}

/** The key of the action at `index` among those that one item became. */
export function numberKey(key: string, index: number): string {
  return index === 0 ? key : `${key}#${index + 1}`;
}

/** The rendered text as a key; none if it is blank. */
export function toKey(rendered: string | undefined): string | undefined {
  const key = rendered?.trim() ?? "";
  if (key.length <= MAX_KEY_LENGTH) return key || undefined;
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}
