import type { ChannelDriver } from "../channels/driver.ts";
import { DriverError } from "../errors.ts";
import type { Delivery, Journal, Route } from "../journal/journal.ts";
import { withTimeout } from "../shared/async.ts";
import { FALLBACK_CHANNEL } from "../types.ts";
import type { DispatchContext } from "./context.ts";
import { assertAttemptsLeft, retryDelayMs } from "./retry.ts";
import { toFailure } from "./run.ts";

/** Chat services are away for longer than models: eight tries reach over some four minutes. */
const POLICY = { maxAttempts: 8, firstMs: 2000, maxMs: 300_000 };

const SEND_TIMEOUT_MS = 30_000;

/** Carries out a claimed delivery and records what came of it; rejects only when the service stops meanwhile. */
export async function carryOutDelivery(delivery: Delivery, context: DispatchContext): Promise<void> {
  let route: Route | undefined;
  try {
    assertAttemptsLeft(delivery.attempts, POLICY.maxAttempts);
    route = await resolveRoute(delivery, context.journal);
    if (route) await deliver(delivery, route, context);
    else await skip(delivery, context);
  } catch (error) {
    // cut off: it goes on behind the last part that is recorded, after the restart
    context.signal.throwIfAborted();
    await recordFailure({ ...delivery, route }, error, context);
  }
}

async function deliver(delivery: Delivery, route: Route, context: DispatchContext): Promise<void> {
  const { journal, log } = context;
  const { id, runId, eventId, text, partsSent } = delivery;
  const driver = requireDriver(route, context);
  const parts = context.split(text, { limit: driver.limit, measure: driver.measure?.bind(driver) });
  for (const [index, part] of parts.entries()) {
    if (index < partsSent) continue;
    await sendPart({ to: route.to, text: part, idempotencyKey: `${id}:${index}` }, driver, context.signal);
    const isLast = index === parts.length - 1;
    if (!isLast) await journal.progressDelivery(id, index + 1, route);
  }
  const end = { state: "sent", at: Date.now(), route, partsSent: parts.length } as const;
  await journal.finishDelivery(id, end);
  log.info("delivered", { deliveryId: id, runId, eventId, channel: route.channel, parts: parts.length });
}

async function skip({ id, runId, eventId }: Delivery, { journal, log }: DispatchContext): Promise<void> {
  const error = `no channel has been used yet, and no recipient on ${FALLBACK_CHANNEL} is known: name channel and to`;
  log.info("delivery skipped", { deliveryId: id, runId, eventId, error });
  await journal.finishDelivery(id, { state: "skipped", at: Date.now(), error });
}

function requireDriver({ channel, to }: Route, context: DispatchContext): ChannelDriver {
  const driver = context.channels().get(channel);
  if (!driver) {
    throw new DriverError(`the channel ${channel} is not configured: add a channels.${channel} block`, {
      retryable: false,
    });
  }
  driver.checkRecipient(to);
  return driver;
}

async function sendPart(
  message: Parameters<ChannelDriver["send"]>[0],
  driver: ChannelDriver,
  signal: AbortSignal,
): Promise<void> {
  await withTimeout((ended) => driver.send(message, ended), {
    timeoutMs: SEND_TIMEOUT_MS,
    timeoutError: () =>
      new DriverError(`${driver.name} did not answer in ${SEND_TIMEOUT_MS / 1000} s`, { retryable: true }),
    signal,
  });
}

async function recordFailure(delivery: Delivery, cause: unknown, context: DispatchContext): Promise<void> {
  const { journal, log } = context;
  const { id, runId, eventId, route, attempts } = delivery;
  const error = toFailure(cause).message;
  const fields = { deliveryId: id, runId, eventId, channel: route?.channel, attempts, error };
  const delayMs = retryDelayMs(cause, attempts, POLICY);
  const at = Date.now();
  if (delayMs !== undefined) {
    log.warn("delivery failed, will try again", fields);
    return journal.retryDelivery(id, at + delayMs, error);
  }
  log.error("delivery failed for good", fields);
  return journal.finishDelivery(id, { state: "failed", at, route, error });
}

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
    throw new DriverError(`no recipient is known for ${resolved}: set "to" on the hook`, { retryable: false });
  }
  return { channel: resolved, to: recipient };
}
