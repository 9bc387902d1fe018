import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { styleText } from "node:util";
import { parseDuration } from "../../config/resolve.ts";
import { ConfigError } from "../../errors.ts";
import { toPrintable } from "../../telemetry/log.ts";
import type { LogLine } from "../../types.ts";
import {
  createOperatorClient,
  type EventFilter,
  type EventRow,
  readEventRows,
  type ServiceFlags,
} from "../operator-client.ts";
import { printTable, printTries } from "../print.ts";
import { printActions, printLog } from "./try.ts";

/** `since` and `until` as a person names moments. */
export type EventFlags = ServiceFlags & EventFilter;

/** Lists events, newest first. */
export async function listEvents(flags: EventFlags & { limit: number; json: boolean }): Promise<void> {
  const client = await createOperatorClient(flags);
  const events: EventRow[] = [];
  for await (const event of readEventRows(client, toFilter(flags))) {
    if (events.push(event) === flags.limit) break;
  }
  if (flags.json) console.log(JSON.stringify(events, undefined, 2));
  else if (events.length === 0) console.log("There are no such events.");
  else console.log(printEventTable(events).join("\n"));
}

/** Shows everything about one event. */
export async function showEvent(id: string, flags: ServiceFlags & { json: boolean }): Promise<void> {
  const client = await createOperatorClient(flags);
  const response = await client.call("GET", `/api/events/${encodeURIComponent(id)}`);
  const event: EventTimeline = JSON.parse(await response.text());
  console.log(flags.json ? JSON.stringify(event, undefined, 2) : printEvent(event).join("\n"));
}

/** Writes all these events to standard output, everything about each in a line of JSON, newest first. */
export async function exportEvents(flags: EventFlags): Promise<void> {
  const client = await createOperatorClient(flags);
  const { body } = await client.call("GET", "/api/events/export", { ...toFilter(flags) });
  if (body) await pipeline(Readable.fromWeb(body), process.stdout).catch(ignoreClosedPipe);
}

/** The filter that the flags name. */
export function toFilter({ hook, status, since, until }: EventFlags): EventFilter {
  const now = Date.now();
  return { hook, status, since: toMoment(since, now), until: toMoment(until, now) };
}

/** `… export | head` has read enough. */
function ignoreClosedPipe(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) throw error;
}

function printEventTable(events: EventRow[]): string[] {
  const rows = events.map(({ id, receivedAt, hook, mapping, status, replayOf }) => [
    id,
    toSecond(receivedAt),
    status,
    hook,
    mapping,
    replayOf && `replay of ${replayOf}`,
  ]);
  return printTable(["id", "received", "status", "hook", "mapping", ""], rows);
}

/** As exact as a list needs it: the ids tell the order. */
function toSecond(moment: string): string {
  return moment.replace(/\.\d+Z$/, "Z");
}

/**
 * A moment as a person names it, in ISO 8601: `1h` is an hour before `now` (milliseconds since the epoch), anything else a
 * date. Throws a `ConfigError` where it is neither.
 */
export function toMoment(text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined;
  const at = new Date(/^\d+(ms|s|m|h|d)$/.test(text) ? now - parseDuration(text) : text);
  if (!Number.isNaN(at.getTime())) return at.toISOString();
  const message = `"${text}" is no moment: expected how long ago it was, as in 90m or 7d, or a date, as in 2026-11-20T10:00:00Z.`;
  throw new ConfigError([{ message }]);
}

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
