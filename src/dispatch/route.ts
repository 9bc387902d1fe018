import { DriverError } from "../errors.ts";
import type { Delivery, Journal, Route } from "../journal/port.ts";
import { FALLBACK_CHANNEL } from "../types.ts";

/**
 * Where a delivery goes. Undefined where it was to go where the last one went, and there was none. Throws a lasting
 * `DriverError` where a channel was named and nobody is known to send it to.
 */
export async function resolveRoute(
  { channel, to, route }: Pick<Delivery, "channel" | "to" | "route">,
  journal: Pick<Journal, "lastRoute">,
): Promise<Route | undefined> {
  // a part of it has gone there already
  if (route) return route;
  const last = await journal.lastRoute(channel === "last" ? undefined : channel);
  if (channel === "last" && !last && to === undefined) return undefined;
  const resolved = channel === "last" ? (last?.channel ?? FALLBACK_CHANNEL) : channel;
  const recipient = to ?? last?.to;
  if (recipient === undefined) {
    throw new DriverError("lasting", `no recipient is known for ${resolved}: set "to" on the hook`);
  }
  return { channel: resolved, to: recipient };
}
