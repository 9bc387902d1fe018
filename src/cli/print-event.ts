import { styleText } from "node:util";
import type { LogLine } from "../types.ts";
import { printActions } from "./print-actions.ts";
import { printLog } from "./print-log.ts";
import { printTries } from "./print-tries.ts";
import { toPrintable } from "../telemetry/to-printable.ts";

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
  /** As it was asked for: `last`, say. */
  channel: string;
  to?: string;
  /** Where it went, once that is known. */
  route?: { channel: string; to: string };
  error?: string;
}

/** Everything about an event as a person reads it: what came, what was made of it, what became of that. */
export function printEvent(event: EventTimeline): string[] {
  const { method, path, client, payload } = event.request;
  return [
    `${styleText("bold", event.id)}  ${toPrintable(event.hook)}  ${event.status}`,
    `received ${event.receivedAt}`,
    ...(event.replayOf ? [`replay of ${event.replayOf}`] : []),
    ...(event.mapping ? [`mapping ${event.mapping}`] : []),
    ...section("request", [`${method} ${path} from ${client}`, ...toLines(payload)]),
    ...section("warnings", event.warnings),
    ...section("log", printLog(event.log)),
    ...section("error", event.error ? toErrorLines(event.error) : []),
    ...event.runs.flatMap((run) =>
      section(`run ${run.id}  ${run.state}, ${printTries(run.attempts)}`, toRunLines(run)),
    ),
    ...event.deliveries.flatMap((delivery) =>
      section(`delivery ${delivery.id}  ${delivery.state}, ${printTries(delivery.attempts)}`, [
        describeRoute(delivery.route ?? delivery),
        ...toLines(delivery.error),
      ]),
    ),
  ];
}

function section(title: string, lines: string[]): string[] {
  if (lines.length === 0) return [];
  return ["", styleText("dim", title), ...lines.map((line) => `  ${line}`)];
}

function toRunLines({ action, reply, error }: EventTimeline["runs"][number]): string[] {
  return [...(action ? printActions([action]) : []), ...toLines(reply), ...toLines(error)];
}

function toErrorLines({ code, message, detail }: NonNullable<EventTimeline["error"]>): string[] {
  return [`${code}: ${message}`, ...toLines(detail)];
}

function describeRoute({ channel, to }: Pick<TimelineDelivery, "channel" | "to">): string {
  return to === undefined ? `on ${channel}` : `to ${toPrintable(to)} on ${channel}`;
}

/** Text as it is, anything else as JSON; nothing for what is missing. */
function toLines(value: unknown): string[] {
  if (value === undefined) return [];
  const text = typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
  return toPrintable(text).split("\n");
}
