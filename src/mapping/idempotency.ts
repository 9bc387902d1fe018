import { createHash } from "node:crypto";
import { HookError } from "../errors.ts";
import { createId } from "../shared/id.ts";
import type { HookRequest, Resolution } from "../types.ts";

type Idempotency = NonNullable<Resolution["idempotency"]>;

const VISIBLE = /^[\x21-\x7e]{1,255}$/;

/** Throws a 400 `HookError` where the `Idempotency-Key` header is there and cannot be a key. */
export function requireIdempotencyKey({ idempotencyKey }: HookRequest): void {
  if (idempotencyKey === undefined || VISIBLE.test(idempotencyKey)) return;
  const message = `Idempotency-Key must be 1 to ${MAX_KEY_LENGTH} visible ASCII characters.`;
  throw new HookError("invalid_idempotency_key", { message });
}

/** The key that a caller chose, by header or body: the same key under other content is the caller's mistake. */
export function toChosenKey(key: string | undefined): Idempotency | undefined {
  return key === undefined ? undefined : { keys: [key], perAction: false, conflictOnOtherContent: true };
}

/** The key of the whole event as the `dedupe` template gives it; none where it is blank. */
export function toEventKey(rendered: string | undefined): Idempotency | undefined {
  const key = toKey(rendered);
  return key === undefined ? undefined : { keys: [key], perAction: false, conflictOnOtherContent: false };
}

/**
 * The keys of the actions that each item became. An item without a key is no repeat of anything; of one that became several
 * actions the later ones are told apart by their number.
 */
export function toItemKeys(items: { rendered: string | undefined; actions: number }[]): Idempotency | undefined {
  const keys = items.flatMap(({ rendered, actions }) => {
    const key = toKey(rendered) ?? createId();
    return Array.from({ length: actions }, (_, index) => (index === 0 ? key : `${key}#${index + 1}`));
  });
  return keys.length === 0 ? undefined : { keys, perAction: true, conflictOnOtherContent: false };
}

/** The longest key that is kept as it is, in characters. */
const MAX_KEY_LENGTH = 255;

/** What a template gave as a key of any length: a long one is known by its hash; none where it is blank. */
export function toKey(rendered: string | undefined): string | undefined {
  const key = rendered?.trim() ?? "";
  if (key.length <= MAX_KEY_LENGTH) return key || undefined;
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}
