import type { ChannelDriver, OutgoingMessage } from "../channels/driver.ts";
import { DriverError } from "../errors.ts";
import type { ClaimedDelivery, Delivery, Journal, Route } from "../journal/journal.ts";
import { withTimeout } from "../shared/time.ts";
import { splitText } from "../shared/text.ts";
import { failSpan } from "../telemetry/traces.ts";
import { FALLBACK_CHANNEL } from "../types.ts";
import type { DispatchContext } from "./context.ts";
import { assertAttemptsLeft, isClaimHeld, retryDelayMs, toFailure } from "./retry.ts";

/** Chat services have longer outages than models: eight attempts cover about four minutes. */
export const DELIVERY_POLICY = { maxAttempts: 8, firstMs: 2000, maxMs: 300_000 };

const SEND_TIMEOUT_MS = 30_000;

/**
 * Executes a claimed delivery and records its result: false if the claim was lost. Rejects only if the service shuts down
 * meanwhile.
 */
export async function executeDelivery(delivery: ClaimedDelivery, context: DispatchContext): Promise<boolean> {
  let route: Route | undefined;
  const startedAt = Date.now();
  try {
    assertAttemptsLeft(delivery.attempts, DELIVERY_POLICY.maxAttempts);
    route = await resolveRoute(delivery, context.journal);
    const progress = { partsSent: delivery.partsSent, route };
    if (!(await isClaimHeld(startedAt, () => context.journal.progressDelivery(delivery, progress)))) return false;
    return await (route ? deliver(delivery, route, context) : skip(delivery, context, noRoute(context)));
  } catch (error) {
    // After the restart it continues behind the last recorded part.
    context.signal.throwIfAborted();
    return recordDeliveryFailure({ ...delivery, route, startedAt }, error, context);
  }
}

async function deliver(delivery: ClaimedDelivery, route: Route, context: DispatchContext): Promise<boolean> {
  const { journal, telemetry } = context;
  const { id: deliveryId, runId, eventId, text, partsSent } = delivery;
  const startedAt = Date.now();
  const driver = requireDriver(route, context);
  if (context.current().config.channelRules.get(route.channel)?.dryRun) {
    return skip(delivery, context, `dry run: would have been sent to ${route.to}`);
  }
  const parts = splitText(text, driver);
  let messageId: string | undefined;
  for (const [index, part] of parts.entries()) {
    if (index < partsSent) continue;
    const message: OutgoingMessage = { to: route.to, text: part, idempotencyKey: `${deliveryId}:${index}` };
    // An ordinary delivery may hold a text that was passed on, which must not become markup.
    if (delivery.conversation !== undefined) message.format = "markdown";
    // A part is recorded once it is sent, so only the first that is not may have been.
    if (index === partsSent && delivery.attempts > 1) message.mayBeSent = true;
    if (index === 0 && driver.canUpdate) message.replaces = delivery.replaces;
    messageId = await sendPart(message, driver, context.signal);
    const isLast = index === parts.length - 1;
    if (!isLast && !(await journal.progressDelivery(delivery, { partsSent: index + 1, route, messageId })))
      return false;
  }
  telemetry.activity.delivered({ channel: route.channel, result: "sent", ms: Date.now() - startedAt });
  const end = { state: "sent", at: Date.now(), route, partsSent: parts.length, messageId } as const;
  const isRecorded = await journal.finishDelivery(delivery, end);
  const fields = { deliveryId, runId, eventId, channel: route.channel, parts: parts.length };
  if (isRecorded) telemetry.steps.info("delivered", fields);
  return isRecorded;
}

async function skip(delivery: ClaimedDelivery, context: DispatchContext, error: string): Promise<boolean> {
  const { id: deliveryId, runId, eventId } = delivery;
  const isRecorded = await context.journal.finishDelivery(delivery, { state: "skipped", at: Date.now(), error });
  context.telemetry.activity.delivered({ channel: delivery.channel, result: "skipped", ms: 0 });
  context.telemetry.steps.info("delivery skipped", { deliveryId, runId, eventId, error });
  return isRecorded;
}

function noRoute({ current }: DispatchContext): string {
  return current().channels.size === 0
    ? "no channel is configured: set channels"
    : `no channel has been used yet, and no recipient on ${FALLBACK_CHANNEL} is known: set channel and to`;
}

function requireDriver({ channel, to }: Route, context: DispatchContext): ChannelDriver {
  const driver = context.current().channels.get(channel);
  if (!driver) {
    throw new DriverError(`the channel ${channel} is not configured: add a channels.${channel} block`, {
      retryable: false,
    });
  }
  driver.checkRecipient(to);
  return driver;
}

/** Gives the id of the message, if the channel has one. */
export async function sendPart(
  message: OutgoingMessage,
  driver: ChannelDriver,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { messageId } = await withTimeout((ended) => driver.send(message, ended), {
    timeoutMs: SEND_TIMEOUT_MS,
    timeoutError: () =>
      new DriverError(`${driver.name} did not answer in ${SEND_TIMEOUT_MS / 1000} s`, { retryable: true }),
    signal,
  });
  return messageId;
}

async function recordDeliveryFailure(
  { startedAt, ...delivery }: ClaimedDelivery & { startedAt: number },
  cause: unknown,
  context: DispatchContext,
): Promise<boolean> {
  const { journal, telemetry } = context;
  const { id, runId, eventId, route, attempts } = delivery;
  const error = toFailure(cause).message;
  const fields = { deliveryId: id, runId, eventId, channel: route?.channel, attempts, error };
  const delayMs = retryDelayMs(cause, attempts, DELIVERY_POLICY);
  const at = Date.now();
  const channel = route?.channel ?? delivery.channel;
  telemetry.activity.delivered({ channel, result: delayMs === undefined ? "failed" : "retried", ms: at - startedAt });
  failSpan();
  if (delayMs !== undefined) {
    const isRecorded = await journal.retryDelivery(delivery, at + delayMs, error);
    telemetry.steps.warn("delivery failed, will try again", fields);
    return isRecorded;
  }
  const isRecorded = await journal.finishDelivery(delivery, { state: "failed", at, route, error });
  telemetry.steps.error("delivery failed permanently", fields);
  return isRecorded;
}

/**
 * Where a delivery goes. Undefined if it should follow the last route and there is none yet. Throws a permanent
 * `DriverError` if a channel is named and no recipient is known on it.
 */
export async function resolveRoute(
  { channel, to, route }: Pick<Delivery, "channel" | "to" | "route">,
  journal: Pick<Journal, "lastRoute">,
): Promise<Route | undefined> {
  // A part of it was already sent there.
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
