import { HTTP_ERRORS } from "../errors.ts";
import type { EventSummary } from "../journal/journal.ts";

/** The part of a summary that becomes one line. */
export type Outcome = Pick<EventSummary, "failure" | "open" | "lost" | "run" | "delivery">;

export interface OutcomeView {
  /** The result of the event in one line: `turn 3.2 s → slack C01 ✓`. It may quote a driver or a sender. */
  outcome: string;
  /** From the request to the end of what it led to, in milliseconds. Absent until then. */
  durationMs?: number;
}

const MAX_CHARACTERS = 120;

/** Describes what became of an event. */
export function toOutcome(event: EventSummary): OutcomeView {
  const outcome = describe(event).replaceAll(/\s+/g, " ");
  const isCut = outcome.length > MAX_CHARACTERS;
  const durationMs = toDuration(event);
  return {
    outcome: isCut ? `${outcome.slice(0, MAX_CHARACTERS - 1)}…` : outcome,
    ...(durationMs !== undefined && { durationMs }),
  };
}

function describe(event: EventSummary): string {
  const { failure, actions, reason } = event;
  if (failure) return `${statusOf(failure.code)}${failure.message}`;
  if (actions.length === 0) return reason === undefined ? "skipped" : `skipped: ${reason}`;
  const wakes = actions.filter(({ kind }) => kind === "wake");
  const parts = wakes.length > 0 ? [wakes.length === 1 ? `wake (${wakes[0]?.mode})` : `${wakes.length} wakes`] : [];
  if (actions.length > wakes.length) parts.push(describeTurns(event, actions.length - wakes.length));
  return parts.join(" · ");
}

function statusOf(code: string): string {
  const known: Record<string, { status: number }> = HTTP_ERRORS;
  return known[code] ? `${known[code].status}: ` : "";
}

function describeTurns({ run, delivery, actions, open, lost }: EventSummary, turns: number): string {
  if (run) return [describeRun(run), ...(delivery ? [describeDelivery(delivery)] : [])].join(" → ");
  if (actions.every(({ coalesced, kind }) => coalesced || kind === "wake")) return "joins a waiting turn";
  const counts = [open > 0 ? `${open} in progress` : "", lost > 0 ? `${lost} failed` : ""].filter(Boolean);
  return `${turns} turns${counts.length > 0 ? `: ${counts.join(", ")}` : " ✓"}`;
}

type RunSummary = NonNullable<EventSummary["run"]>;
type DeliverySummary = NonNullable<EventSummary["delivery"]>;

function describeRun({ state, attempts, error, holdReason, startedAt, finishedAt }: RunSummary): string {
  if (state === "done") return `turn ${formatMs((finishedAt ?? 0) - (startedAt ?? 0))}`;
  if (state === "dead") return `turn failed: ${error}`;
  if (state === "dropped") return `turn dropped: ${error}`;
  if (state === "held") return `turn held: ${holdReason}`;
  if (state === "running") return attempts > 1 ? `turn running, attempt ${attempts}` : "turn running";
  return error === undefined ? "turn waiting" : `attempt ${attempts} failed, will try again: ${error}`;
}

function describeDelivery({ state, channel, to, route, attempts, error }: DeliverySummary): string {
  const place = [route?.channel ?? channel, route?.to ?? to ?? ""].join(" ").trim();
  if (state === "sent") return `${place} ✓`;
  if (state === "skipped") return `not sent: ${error}`;
  if (state === "failed" || state === "dropped") return `${place} ✗ ${error}`;
  return error === undefined ? `${place} …` : `${place}, attempt ${attempts} failed, will try again: ${error}`;
}

function toDuration({ receivedAt, open, run, delivery }: EventSummary): number | undefined {
  const end = delivery?.sentAt ?? run?.finishedAt;
  return open > 0 || end === undefined ? undefined : end - receivedAt;
}

function formatMs(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}
