import type { HookApi, VendorWebhooks, WantedHook } from "../../core/ports/vendor.ts";

/** The way to exactly one webhook that posts to an address, with a secret that is stored. */
export type RegistrationPlan =
  | { kind: "create" }
  /** Sets address, events and secret of `id` again, and removes the others. */
  | { kind: "update"; id: string; others: string[] }
  /** The secrets of these are not known any more. */
  | { kind: "renew"; ids: string[] };

export function planRegistration(
  { secretBy }: Pick<VendorWebhooks, "secretBy">,
  found: readonly string[],
  isSecretStored: boolean,
): RegistrationPlan {
  const [id, ...others] = found;
  if (id === undefined) return { kind: "create" };
  return secretBy !== "vendor" || isSecretStored ? { kind: "update", id, others } : { kind: "renew", ids: [...found] };
}

/**
 * Makes the webhook. It can be stopped between any two calls and run again. A secret of our own must be on disk before;
 * `store` puts one that the sender has made there.
 */
export async function runRegistration(
  plan: RegistrationPlan,
  hooks: HookApi,
  wanted: WantedHook,
  store: (secret: string) => void,
): Promise<{ id: string; notes: string[] }> {
  if (plan.kind === "update") {
    const notes = (await hooks.update(plan.id, wanted)) ?? [];
    for (const id of plan.others) await hooks.remove(id);
    return { id: plan.id, notes };
  }
  const old = plan.kind === "renew" ? plan.ids : [];
  // Otherwise it is deleted first, so that there are never two.
  if (!hooks.isCreateRepeatable) for (const id of old) await hooks.remove(id);
  const { id, secret, notes = [] } = await hooks.create(wanted);
  if (secret !== undefined) store(secret);
  if (hooks.isCreateRepeatable) for (const other of old) if (other !== id) await hooks.remove(other);
  return { id, notes };
}
