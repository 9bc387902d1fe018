import { toPrintable } from "../../telemetry/log.ts";
import type { LogLine } from "../../types.ts";
import { formatActions, formatCount, formatLog } from "../format.ts";
import { style } from "../io.ts";

/** An event as `GET /api/events/:id` shows it. */
export interface EventTimeline {
  id: string;
  hook: string;
  mapping?: string;
  receivedAt: string;
  replayOf?: string;
  status: string;
  request: { method: string; path: string; contentType: string; client: string; payload: unknown };
  warnings: string[];
  log: LogLine[];
  error?: { code: string; message: string; detail?: string };
  runs: { id: string; state: string; attempts: number; action?: object; reply?: string; error?: string }[];
  deliveries: TimelineDelivery[];
}

interface TimelineDelivery {
  id: string;
  state: string;
  attempts: number;
  /** As the action named it, for example `last`. */
  channel: string;
  to?: string;
  /** The resolved channel and recipient. */
  route?: { channel: string; to: string };
  error?: string;
}

/** Everything about an event for a person: the request, what it led to, and how that ended. */
export function formatEvent(event: EventTimeline): string[] {
  const { method, path, client, payload } = event.request;
  return [
    `${style("bold", event.id)}  ${toPrintable(event.hook)}  ${event.status}`,
    `received ${event.receivedAt}`,
    ...(event.replayOf ? [`replay of ${event.replayOf}`] : []),
    ...(event.mapping ? [`mapping ${event.mapping}`] : []),
    ...section("request", [`${method} ${path} from ${client}`, ...toLines(payload)]),
    ...section("warnings", event.warnings),
    ...section("log", formatLog(event.log)),
    ...section(
      "error",
      event.error ? [`${event.error.code}: ${event.error.message}`, ...toLines(event.error.detail)] : [],
    ),
    ...event.runs.flatMap(({ id, state, attempts, action, reply, error }) =>
      section(`run ${id}  ${state}, ${formatCount(attempts, "attempt")}`, [
        ...(action ? formatActions([action]) : []),
        ...toLines(reply),
        ...toLines(error),
      ]),
    ),
    ...event.deliveries.flatMap((delivery) =>
      section(`delivery ${delivery.id}  ${delivery.state}, ${formatCount(delivery.attempts, "attempt")}`, [
        formatRoute(delivery.route ?? delivery),
        ...toLines(delivery.error),
      ]),
    ),
  ];
}

function section(title: string, lines: string[]): string[] {
  if (lines.length === 0) return [];
  return ["", style("dim", title), ...lines.map((line) => `  ${line}`)];
}

function formatRoute({ channel, to }: Pick<TimelineDelivery, "channel" | "to">): string {
  return to === undefined ? `on ${channel}` : `to ${toPrintable(to)} on ${channel}`;
}

/** A text as it is, anything else as JSON, nothing for undefined. */
function toLines(value: unknown): string[] {
  if (value === undefined) return [];
  const text = typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
  return toPrintable(text).split("\n");
}
