import { DriverError, messageOf } from "../../core/errors.ts";
import type { HookApi, HookHealth, WantedHook } from "../../core/ports/vendor.ts";

/** A subscription that posts one event to an address. */
interface Subscription {
  id: string;
  url: string;
  /** The sender's name of the event. */
  event: string;
  /** Why it is off; undefined: it is not. */
  disabled?: string;
  /** The sender's data of it. */
  listed: Record<string, unknown>;
}

/** The subscriptions of one place at a sender that needs one for each event. Calls reject with a `DriverError`. */
export interface SubscriptionApi {
  list(): Promise<Subscription[]>;
  /** The events as the sender names them, without those that it does not let anybody subscribe to. */
  toNames(events: readonly string[]): string[];
  create(event: string, wanted: WantedHook): Promise<string>;
  update(subscription: Subscription, wanted: WantedHook): Promise<void>;
  remove(id: string): Promise<void>;
}

const SEPARATOR = ",";

/** The subscriptions that post to one address, as one webhook. Its id is their ids. */
export function toOneHook(api: SubscriptionApi): HookApi {
  return {
    /** With two of an event, there are two webhooks. */
    async find(url) {
      const hooks: Subscription[][] = [];
      for (const one of (await api.list()).filter((subscription) => subscription.url === url)) {
        const hook = hooks.find((others) => others.every(({ event }) => event !== one.event));
        if (hook) hook.push(one);
        else hooks.push([one]);
      }
      return hooks.map((hook) => hook.map(({ id }) => id).join(SEPARATOR));
    },
    async create(wanted) {
      const { ids, notes } = await set([], wanted);
      return { id: ids.join(SEPARATOR), notes };
    },
    async update(id, wanted) {
      const found = await pick(id);
      const events = api.toNames(wanted.events);
      const { notes } = await set(found, wanted);
      for (const one of found) if (!events.includes(one.event)) await api.remove(one.id);
      return notes;
    },
    async remove(id) {
      for (const one of id.split(SEPARATOR)) await api.remove(one);
    },
    async health(id, events) {
      const found = await pick(id);
      const missing = api.toNames(events).filter((event) => found.every((one) => one.event !== event));
      return toHealth(found, missing);
    },
  };

  async function pick(id: string): Promise<Subscription[]> {
    const ids = new Set(id.split(SEPARATOR));
    return (await api.list()).filter((one) => ids.has(one.id));
  }

  /** A token may subscribe to some events only: one that is refused does not keep back the others. */
  async function set(found: Subscription[], wanted: WantedHook): Promise<{ ids: string[]; notes: string[] }> {
    const ids: string[] = [];
    const refused: { event: string; error: DriverError }[] = [];
    for (const event of api.toNames(wanted.events)) {
      const known = found.find((one) => one.event === event);
      try {
        if (known) await api.update(known, wanted);
        ids.push(known?.id ?? (await api.create(event, wanted)));
      } catch (error) {
        if (known || !(error instanceof DriverError) || error.retryable) throw error;
        refused.push({ event, error });
      }
    }
    if (ids.length === 0 && refused[0]) throw refused[0].error;
    return { ids, notes: refused.map(({ event, error }) => `${event} does not arrive. ${messageOf(error)}`) };
  }
}

function toHealth(found: Subscription[], missing: string[]): HookHealth {
  const off = found.filter(({ disabled }) => disabled !== undefined);
  return {
    isEnabled: off.length === 0,
    notes: [
      ...off.map(({ event, disabled }) => `${event}: ${disabled}`),
      ...(missing.length > 0 ? [`not subscribed to ${missing.join(", ")}`] : []),
    ],
  };
}

/** An id for a person. */
export function showHookId(id: string): string {
  const [first, ...more] = id.split(SEPARATOR);
  return more.length > 0 ? `${first} (and ${more.length} more)` : id;
}
