import type { EventTimeline, EventView } from "../../operator/views.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { formatActions, formatCount, formatLog, formatOutcome, formatTable, shortenIds } from "../format.ts";
import { style } from "../io.ts";

/** A table of events, each row ending in what became of it. */
export function formatEvents(events: EventView[]): string[] {
  const short = shortenIds(events.flatMap(({ id, replayOf = id }) => [id, replayOf]));
  const rows = events.map((row) => [
    short(row.id),
    // The ids tell the order: seconds are enough.
    row.receivedAt.replace(/\.\d+Z$/, "Z"),
    row.status,
    row.hook,
    row.mapping,
    row.event,
    row.replayOf && short(row.replayOf),
    { styled: formatOutcome(row) },
  ]);
  const names = ["id", "received", "status", "hook", "mapping", "event", "replay of", "outcome"];
  return formatTable(names, rows, "No events match.");
}

/** The rest is printed with `--payload`. */
const MAX_PAYLOAD_LINES = 30;

/** Everything about an event for a person: what went wrong, what it led to, and last the request. */
export function formatEvent(event: EventTimeline, { maxPayloadLines = MAX_PAYLOAD_LINES } = {}): string[] {
  const { method, path, client, payload } = event.request;
  const lines = toLines(payload);
  const omitted = lines.length - maxPayloadLines;
  return [
    `${style("bold", event.id)}  ${toPrintable(event.hook)}  ${event.status}`,
    formatOutcome(event),
    ...section("error", listErrors(event)),
    "",
    `received ${event.receivedAt}`,
    ...(event.replayOf ? [`replay of ${event.replayOf}`] : []),
    ...(event.mapping ? [`mapping ${event.mapping}`] : []),
    ...(event.event ? [`event ${toPrintable(event.event)}`] : []),
    ...(event.reason ? [`skipped: ${toPrintable(event.reason)}`] : []),
    ...section("warnings", event.warnings),
    ...section("log", formatLog(event.log)),
    ...event.runs.flatMap(({ id, state, attempts, action, reply, error }) =>
      section(`run ${id}  ${state}, ${formatCount(attempts, "attempt")}`, [
        ...(action ? formatActions([action]) : []),
        ...(reply === undefined ? [] : [style("dim", "reply:"), ...toLines(reply).map((line) => `  ${line}`)]),
        ...toLines(error),
      ]),
    ),
    ...event.deliveries.flatMap((delivery) =>
      section(`delivery ${delivery.id}  ${delivery.state}, ${formatCount(delivery.attempts, "attempt")}`, [
        formatRoute(delivery.route ?? delivery),
        ...toLines(delivery.error),
      ]),
    ),
    ...section("request", [
      `${method} ${path} from ${client}`,
      ...lines.slice(0, maxPayloadLines),
      ...(omitted > 0 && maxPayloadLines > 0
        ? [style("dim", `… ${formatCount(omitted, "more line")}: --payload shows all`)]
        : []),
    ]),
  ];
}

/** Errors of the request, its runs and its deliveries, and how to try again. */
function listErrors({ id, error, runs, deliveries }: EventTimeline): string[] {
  const isDead = runs.some(({ state }) => state === "dead") || deliveries.some(({ state }) => state === "failed");
  return [
    ...(error ? [`${error.code}: ${toPrintable(error.message)}`, ...toLines(error.detail)] : []),
    ...runs.flatMap((run) => (run.error === undefined ? [] : [`run ${run.state}: ${toPrintable(run.error)}`])),
    ...deliveries.flatMap(({ state, error: why }) =>
      why === undefined || state === "skipped" ? [] : [`delivery ${state}: ${toPrintable(why)}`],
    ),
    ...(isDead ? [`try again: webhooks dead-letters retry ${id}`] : []),
  ];
}

function section(title: string, lines: string[]): string[] {
  if (lines.length === 0) return [];
  return ["", style("dim", title), ...lines.map((line) => `  ${line}`)];
}

function formatRoute({ channel, to }: { channel: string; to?: string }): string {
  return to === undefined ? `on ${channel}` : `to ${toPrintable(to)} on ${channel}`;
}

/** A text as it is, anything else as JSON, nothing for undefined. */
function toLines(value: unknown): string[] {
  if (value === undefined) return [];
  const text = typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
  return toPrintable(text).split("\n");
}
