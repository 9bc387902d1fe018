import type { ChannelDriver, OutgoingMessage } from "../ports/channel.ts";
import { DriverError, NotConfigured } from "../errors.ts";
import type { ClaimedDelivery, Delivery, Journal, Route, Run } from "../journal/journal.ts";
import { setTimeout as delay } from "node:timers/promises";
import { withTimeout } from "../shared/time.ts";
import { failSpan } from "../telemetry/traces.ts";
import { FALLBACK_CHANNEL } from "../shared/channel-names.ts";
import { type AgentAction, listTargets } from "../types.ts";
import type { DispatchContext } from "./dispatch-context.ts";
import { splitIntoParts } from "./parts.ts";
import { drawButtons, findOpenQuestion, readEndedQuestion } from "./question-message.ts";
import { prepareReview } from "./review.ts";
import { countFailures, GIVE_BACK_MS, isClaimHeld, isForOthers, retryDelayMs, toFailure } from "./retry.ts";
import { assertInnocent } from "./suspects.ts";

/** Chat services have longer outages than models: eight attempts cover two to four minutes. Alerts use it too. */
export const DELIVERY_POLICY = { maxAttempts: 8, firstMs: 2000, maxMs: 300_000 };

const SEND_TIMEOUT_MS = 30_000;

const BETWEEN_PARTS_MS = 1000;

/**
 * Executes a claimed delivery and records its result: false if the claim was lost. Rejects only if the service shuts down
 * meanwhile.
 */
export async function executeDelivery(delivery: ClaimedDelivery, context: DispatchContext): Promise<boolean> {
  let route: Route | undefined;
  const startedAt = Date.now();
  const claimedAt = performance.now();
  try {
    await assertInnocent(delivery, context.journal);
    route = await resolveRoute(delivery, context.journal);
    const progress = { partsSent: delivery.partsSent, route };
    const isSameAttempt = (): Promise<boolean> => context.journal.progressDelivery(delivery, progress);
    if (!(await isClaimHeld(context.journal, claimedAt, isSameAttempt))) return false;
    const isRecorded = await (route ? deliver(delivery, route, context) : skip(delivery, context, noRoute(context)));
    if (delivery.conversation !== undefined) context.marks.remove(delivery.runId);
    return isRecorded;
  } catch (error) {
    // After the restart it continues behind the last recorded part.
    context.signal.throwIfAborted();
    return recordDeliveryFailure({ ...delivery, route, startedAt }, error, context);
  }
}

async function deliver(delivery: ClaimedDelivery, resolved: Route, context: DispatchContext): Promise<boolean> {
  const { journal, telemetry } = context;
  const { id: deliveryId, runId, eventId, partsSent } = delivery;
  const startedAt = Date.now();
  let route = resolved;
  const driver = requireDriver(route, context);
  if (context.current().config.channelRules.get(route.channel)?.dryRun) {
    return skip(delivery, context, `dry run: would have been sent to ${route.to}`);
  }
  const place = { channel: route.channel, driver };
  const question = delivery.isQuestion ? await findOpenQuestion(delivery, journal) : undefined;
  if (delivery.isQuestion && !question) {
    return skip(delivery, context, "the question was answered before it was sent");
  }
  const told = delivery.ends === undefined ? undefined : await readEndedQuestion(delivery.ends, place, context);
  if (delivery.ends !== undefined && !told) return skip(delivery, context, "the question was not sent");
  const run = await journal.getRun(runId);
  const isToSource = delivery.conversation !== undefined;
  if (run && isToSource) context.marks.show(run);
  const action = run?.action;
  const format = isMarkdown(delivery, action) ? "markdown" : undefined;
  const source = action && isToSource ? listTargets(action).find(({ toSource }) => toSource) : undefined;
  const target = { action, driver, to: route.to, commit: source?.commit };
  let thread = run && (await findThread(delivery, route, { run, driver, references: source?.references, journal }));
  const { text, review, warnings } =
    action?.review && !delivery.isNotice && !delivery.isQuestion && !told
      ? await askChannel((ended) => prepareReview(delivery.text, target, ended), driver, context.signal)
      : { text: told?.text ?? delivery.text, review: undefined, warnings: [] };
  const { parts, isCut } = await splitIntoParts(text, driver, format);
  const replaces = driver.canUpdate ? (told?.messageIds ?? delivery.replaces) : undefined;
  // A review cannot take the place of a message.
  const kept = review ? 0 : parts.length;
  await removeRest(replaces?.slice(kept), { driver, to: route.to, deliveryId }, context);
  let messageId: string | undefined;
  for (const [index, part] of parts.entries()) {
    if (index < partsSent) continue;
    if (index > 0) await delay(driver.pauseMs ?? BETWEEN_PARTS_MS, undefined, { signal: context.signal });
    const message: OutgoingMessage = {
      to: route.to,
      text: part,
      idempotencyKey: `${deliveryId}:${index}`,
      sign: journal.sign,
      format,
      references: source?.references,
      subject: source?.subject,
      isNotice: delivery.isNotice,
      about: { eventId, runId, hook: run?.hook, sessionKey: run?.sessionKey },
    };
    if (eventId !== undefined) message.readEvent = () => context.readEvent(eventId);
    // A part is recorded once it is sent, so only the first that is not may have been.
    if (index === partsSent && delivery.attempts > 1) message.mayBeSent = true;
    if (!review && replaces?.[index] !== undefined) message.replaces = replaces[index];
    if (index === 0 && review) message.review = review;
    if (thread) message.thread = thread;
    if (told) message.buttons = [];
    if (question) Object.assign(message, await drawButtons(question, place, context));
    const sent = await sendPart(message, driver, context.signal);
    messageId = sent.messageId;
    warnings.push(...(sent.warnings ?? []));
    if (thread) {
      if (thread.to !== undefined && sent.thread !== thread.to) warnings.push(describeGone(thread.to, sent.thread));
      thread = { to: sent.thread };
      route = { ...route, thread: sent.thread };
    }
    const isLast = index === parts.length - 1;
    if (!isLast && !(await journal.progressDelivery(delivery, { partsSent: index + 1, route, messageId })))
      return false;
  }
  telemetry.activity.delivered({ channel: route.channel, result: "sent", ms: Date.now() - startedAt });
  if (isCut) warnings.push(describeCut(parts.length));
  const end = { state: "sent", at: Date.now(), route, partsSent: parts.length, messageId, warnings } as const;
  const isRecorded = await journal.finishDelivery(delivery, end);
  const fields = { deliveryId, runId, eventId, channel: route.channel, parts: parts.length };
  if (isRecorded) telemetry.log.info("delivered", { step: "delivery", ...fields });
  if (isRecorded && isCut) telemetry.log.warn("a reply was too long: the rest is on the operator's page", fields);
  return isRecorded;
}

/** The thread that a delivery belongs into; undefined: none. Those to one recipient are sent one after another, so one opens it. */
async function findThread(
  { channel, to, isQuestion, ends }: ClaimedDelivery,
  route: Route,
  { run, driver, references, journal }: ThreadOptions,
): Promise<OutgoingMessage["thread"]> {
  const targets = run.action && !isQuestion && ends === undefined ? listTargets(run.action) : [];
  const target = targets.find((one) => one.channel === channel && one.to === to);
  const isInThread = references !== undefined || driver.isThread?.(route.to) !== false;
  if (target?.thread === undefined || isInThread) return undefined;
  return { to: route.thread ?? (await journal.findThread(run.sessionKey, route.channel, route.to)) };
}

interface ThreadOptions {
  run: Run;
  driver: ChannelDriver;
  /** The message is an answer to these already. */
  references: string[] | undefined;
  journal: Pick<Journal, "findThread">;
}

function describeGone(before: string, now: string | undefined): string {
  return `The thread ${before} is gone: ${now === undefined ? "the reply is in none" : `a new one begins with this reply, ${now}`}.`;
}

function describeCut(parts: number): string {
  const size = parts === 1 ? "one message" : `${parts} messages`;
  return `The reply does not fit into ${size}: the rest is only on the operator's page.`;
}

/**
 * Markdown: an agent's reply, and texts for the event's place. Other texts were passed on, and must not become markup.
 */
function isMarkdown({ conversation, ends }: ClaimedDelivery, action: AgentAction | undefined): boolean {
  return conversation !== undefined || ends !== undefined || action?.agent !== "none";
}

/** A shorter reply has no use for the last messages of the one that it replaces. A failure changes nothing. */
async function removeRest(
  messageIds: string[] = [],
  { driver, to, deliveryId }: { driver: ChannelDriver; to: string; deliveryId: string },
  { signal, telemetry: { log }, journal }: DispatchContext,
): Promise<void> {
  for (const messageId of messageIds) {
    try {
      const ended = AbortSignal.any([signal, AbortSignal.timeout(SEND_TIMEOUT_MS)]);
      await driver.remove?.(to, messageId, ended, journal.sign);
    } catch (error) {
      signal.throwIfAborted();
      log.warn("an earlier message was not removed", { deliveryId, error: toFailure(error).message });
    }
  }
}

async function skip(delivery: ClaimedDelivery, context: DispatchContext, error: string): Promise<boolean> {
  const { id: deliveryId, runId, eventId } = delivery;
  const isRecorded = await context.journal.finishDelivery(delivery, { state: "skipped", at: Date.now(), error });
  context.telemetry.activity.delivered({ channel: delivery.channel, result: "skipped", ms: 0 });
  context.telemetry.log.info("delivery skipped", { step: "delivery", deliveryId, runId, eventId, error });
  return isRecorded;
}

function noRoute({ current }: DispatchContext): string {
  return current().channels.size === 0
    ? "no channel is configured: set channels"
    : "no channel has been used yet that a reply could follow: set channel and to";
}

function requireDriver({ channel, to }: Route, context: DispatchContext): ChannelDriver {
  const driver = context.current().channels.get(channel);
  if (!driver) {
    throw new NotConfigured(`the channel ${channel} is not configured: add a channels.${channel} block`);
  }
  driver.checkRecipient(to);
  return driver;
}

export function sendPart(
  message: OutgoingMessage,
  driver: ChannelDriver,
  signal: AbortSignal,
): ReturnType<ChannelDriver["send"]> {
  return askChannel((ended) => driver.send(message, ended), driver, signal);
}

function askChannel<Result>(
  ask: (signal: AbortSignal) => Promise<Result>,
  { name }: ChannelDriver,
  signal: AbortSignal,
): Promise<Result> {
  return withTimeout(ask, {
    timeoutMs: SEND_TIMEOUT_MS,
    timeoutError: () => new DriverError(`${name} did not answer in ${SEND_TIMEOUT_MS / 1000} s`, { retryable: true }),
    signal,
  });
}

async function recordDeliveryFailure(
  { startedAt, ...delivery }: ClaimedDelivery & { startedAt: number },
  cause: unknown,
  context: DispatchContext,
): Promise<boolean> {
  const { journal, telemetry } = context;
  const { id, runId, eventId, route, attempts } = delivery;
  const error = toFailure(cause).message;
  const fields = { step: "delivery", deliveryId: id, runId, eventId, channel: route?.channel, attempts, error };
  if (await isForOthers(cause, context)) {
    telemetry.log.warn("delivery given back: the nodes' configurations differ", fields);
    return journal.giveBackDelivery(delivery, Date.now() + GIVE_BACK_MS, error);
  }
  const delayMs = retryDelayMs(cause, countFailures(delivery), DELIVERY_POLICY);
  const at = Date.now();
  const channel = route?.channel ?? delivery.channel;
  telemetry.activity.delivered({ channel, result: delayMs === undefined ? "failed" : "retried", ms: at - startedAt });
  failSpan();
  if (delayMs !== undefined) {
    const isRecorded = await journal.retryDelivery(delivery, at + delayMs, error);
    telemetry.log.warn("delivery failed, will try again", fields);
    return isRecorded;
  }
  const isRecorded = await journal.finishDelivery(delivery, { state: "failed", at, route, error });
  if (delivery.conversation !== undefined) context.marks.remove(runId);
  telemetry.log.error("delivery failed permanently", fields);
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
