import { createHash } from "node:crypto";
import { HookError } from "../errors.ts";
import { createId } from "../shared/id.ts";
import type { HookAction, HookRequest, Resolution } from "../types.ts";
import type { CompiledMapping } from "./compile.ts";
import type { Budget, RenderedKey } from "./template/template.ts";

/** The keys that a mapping's templates give for one item. */
export interface ItemKeys {
  session?: RenderedKey;
  dedupe?: RenderedKey;
  coalesce?: RenderedKey;
}

export function renderKeys({ templates, coalesce }: CompiledMapping, context: object, budget: Budget): ItemKeys {
  return {
    session: templates.sessionKey?.renderKey(context, budget),
    dedupe: templates.dedupe?.renderKey(context, budget),
    coalesce: coalesce?.key.renderKey(context, budget),
  };
}

const CONSEQUENCES = {
  session: "sessionKey is not used, so the run has its own session",
  dedupe: "dedupe is not used, so a repeat will not be recognised",
  coalesce: "coalesce.key is not used, so no other request joins the run",
};

/** A sentence for each key that lacks a value. */
export function findIncomplete(keys: ItemKeys): string[] {
  return (["session", "dedupe", "coalesce"] as const)
    .filter((kind) => keys[kind]?.incomplete)
    .map((kind) => `The payload lacks a value: ${CONSEQUENCES[kind]}.`);
}

/** A wake needs no key, because a heartbeat takes all pending ones. Several actions of one item are numbered. */
export function coalesceActions(
  actions: HookAction[],
  { coalesce }: CompiledMapping,
  rendered: RenderedKey | undefined,
): HookAction[] {
  const key = toKey(rendered);
  if (!coalesce || key === undefined) return actions;
  const { windowMs } = coalesce;
  return actions.map((action, index) =>
    action.kind === "agent" ? { ...action, coalesce: { key: numberKey(key, index), windowMs } } : action,
  );
}

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

/** The key of the whole event, from the `dedupe` template; none if it is blank or incomplete. */
export function toEventKey(rendered: RenderedKey | undefined): Idempotency | undefined {
  const key = toKey(rendered);
  return key === undefined ? undefined : { keys: [key], perAction: false, conflictOnOtherContent: false };
}

/** What `dedupe` renders for one item, and the number of actions the item became. */
export interface ItemKey {
  rendered: RenderedKey | undefined;
  actions: number;
}

/** One key per action. An item without a key never counts as a duplicate. */
export function toItemKeys(items: ItemKey[]): Idempotency | undefined {
  const keys = items.flatMap(({ rendered, actions }) => {
    const key = toKey(rendered) ?? createId();
    return Array.from({ length: actions }, (_, index) => numberKey(key, index));
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
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}
