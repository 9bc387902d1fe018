import type { Command } from "commander";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parseDuration } from "../../shared/duration.ts";
import { ConfigError } from "../../errors.ts";
import type { EventTimeline, EventView } from "../../operator/views.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { addServiceOptions, toCount } from "../command.ts";
import { formatActions, formatCount, formatLog, formatTable, shortenIds } from "../format.ts";
import { type CliIo, print, printJson, style } from "../io.ts";
import {
  createOperatorClient,
  type OperatorClient,
  readPages,
  requireAnswer,
  type ServiceFlags,
} from "../operator-client.ts";

interface EventFilter {
  hook?: string;
  status?: string;
  /** Received at this time or later, and before `until`. */
  since?: string;
  until?: string;
}

type FilterFlags = ServiceFlags & EventFilter;
type ListFlags = FilterFlags & { limit: number; json: boolean };
type ShowFlags = ServiceFlags & { payload: boolean; json: boolean };
type ReplayFlags = FilterFlags & { dryRun: boolean; json: boolean };

export function addEvents(program: Command, io: CliIo): void {
  const events = program.command("events").description("Inspect received events, and replay them.");

  addFilterOptions(events.command("list").description("List events, newest first."))
    .option("--limit <number>", "at most this many", toCount, 50)
    .option("--json", "print JSON", false)
    .action((flags: ListFlags) => listEvents(flags, io));

  addServiceOptions(events.command("show").description("Show everything about an event."))
    .argument("<id>", "its id, or the beginning of it")
    .option("--payload", "print the whole payload", false)
    .option("--json", "print JSON", false)
    .action((id: string, flags: ShowFlags) => showEvent(id, flags, io));

  const replay = events.command("replay").summary("Run events again through today's mappings, as new events.");
  addFilterOptions(replay)
    .description(
      "Run events again through today's mappings, as new events. A sender that was refused and retried left one event for " +
        "each attempt: a replay ignores idempotency keys and runs all of them.",
    )
    .argument("[ids...]", "ids of events; without ids, the options choose the events")
    .option("--dry-run", "only count the events", false)
    .option("--json", "print JSON", false)
    .action((ids: string[], flags: ReplayFlags) => replayEvents(ids, flags, io));

  addFilterOptions(
    events.command("export").description("Write everything about events, one line of JSON each."),
  ).action((flags: FilterFlags) => exportEvents(flags, io));
}

function addFilterOptions(command: Command): Command {
  return addServiceOptions(command)
    .option("--hook <name>", "only events of this hook")
    .option("--status <status>", "only accepted, skipped, rejected, done, failed or dead events")
    .option("--since <time>", "only events received since then: a duration before now, as 90m or 7d, or a date")
    .option("--until <time>", "only events received before then");
}

async function listEvents(flags: ListFlags, io: CliIo): Promise<void> {
  const events: EventView[] = [];
  for await (const event of readEvents(await createOperatorClient(flags, io), flags)) {
    if (events.push(event) === flags.limit) break;
  }
  if (flags.json) printJson(io, events);
  else if (events.length === 0) print(io, "No events match.");
  else print(io, ...formatEvents(events));
}

async function showEvent(start: string, flags: ShowFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const event = await client.call("GET /api/events/:id", { id: await findId(client, start) });
  if (flags.json) printJson(io, event);
  else print(io, ...formatEvent(event, flags.payload ? Infinity : MAX_PAYLOAD_LINES));
}

/** The id that begins so. */
async function findId(client: OperatorClient, start: string): Promise<string> {
  const { events } = await client.call("GET /api/events", { prefix: start, limit: 5 });
  const [event, other] = events;
  if (event && !other) return event.id;
  const found = events.map(({ id }) => id).join(", ");
  const message = event ? `Several events begin with ${start}, such as ${found}.` : "There is no such event.";
  throw new ConfigError([{ message }]);
}

async function exportEvents(flags: FilterFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const { body } = await requireAnswer(await client.send("GET", "/api/events/export", { ...toFilter(flags) }));
  if (body) await pipeline(Readable.fromWeb(body), io.stdout, { end: false }).catch(ignoreClosedPipe);
}

/** `… export | head` has read enough. */
function ignoreClosedPipe(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) throw error;
}

/** Replays the oldest event first. Exit code 1 when one is refused. */
async function replayEvents(ids: string[], flags: ReplayFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const named = await Promise.all(ids.map((id) => findId(client, id)));
  const chosen = named.length > 0 ? named : await findIds(client, flags);
  const replays: Replay[] = [];
  for (const id of flags.dryRun ? [] : chosen) {
    const replay = await replayEvent(client, id);
    if (!flags.json) print(io, `${id}  ${replay.status}  ${replay.error ?? replay.eventId ?? "skipped"}`);
    if (replay.error) io.exitCode = 1;
    replays.push(replay);
  }
  if (flags.json) printJson(io, { count: chosen.length, replays });
  else if (flags.dryRun) print(io, `${chosen.length} would be replayed.`);
  else print(io, `${replays.filter(({ error }) => !error).length} of ${chosen.length} replayed.`);
}

/** All of them before the first replay: the search would find the new events too. */
async function findIds(client: OperatorClient, flags: FilterFlags): Promise<string[]> {
  if (Object.values(toFilter(flags)).every((value) => value === undefined)) {
    const message = "Name events by their ids, or choose them with --hook, --status, --since or --until.";
    throw new ConfigError([{ message }]);
  }
  const events = await Array.fromAsync(readEvents(client, flags));
  return events.map(({ id }) => id).toReversed();
}

interface Replay {
  id: string;
  /** The status that the sender would get. */
  status: number;
  /** The new event. */
  eventId?: string;
  error?: string;
}

async function replayEvent(client: OperatorClient, id: string): Promise<Replay> {
  const response = await client.send("POST", `/api/events/${encodeURIComponent(id)}/replay`);
  const text = await response.text();
  const { eventId, error }: Partial<Replay> = text === "" ? {} : JSON.parse(text);
  return { id, status: response.status, eventId, error };
}

/** The events that the flags choose, newest first. */
async function* readEvents(client: OperatorClient, flags: FilterFlags): AsyncGenerator<EventView> {
  const { hook, status, since = "", until = "~" } = toFilter(flags);
  const events = readPages(async (page) => (await client.call("GET /api/events", { hook, status, ...page })).events);
  for await (const event of events) {
    // Newest first: all that follow are older. ISO 8601 times sort as text.
    if (event.receivedAt < since) return;
    if (event.receivedAt < until) yield event;
  }
}

/** With times in ISO 8601. */
function toFilter({ hook, status, since, until }: FilterFlags): EventFilter {
  const now = Date.now();
  return { hook, status, since: parseTime(since, now), until: parseTime(until, now) };
}

/** `1h` is an hour before `now` (milliseconds since the epoch), anything else a date. Throws a `ConfigError` for neither. */
export function parseTime(text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined;
  const time = new Date(/^\d+(ms|s|m|h|d)$/.test(text) ? now - parseDuration(text) : text);
  if (!Number.isNaN(time.getTime())) return time.toISOString();
  const message = `"${text}" is not a valid time: expected a duration before now, as 90m or 7d, or a date, as 2026-11-20T10:00:00Z.`;
  throw new ConfigError([{ message }]);
}

function formatEvents(events: EventView[]): string[] {
  const short = shortenIds(events.flatMap(({ id, replayOf = id }) => [id, replayOf]));
  const rows = events.map(({ id, receivedAt, hook, mapping, event, status, reason, replayOf }) => [
    short(id),
    // The ids tell the order: seconds are enough.
    receivedAt.replace(/\.\d+Z$/, "Z"),
    status,
    hook,
    mapping,
    event,
    reason ?? (replayOf && `replay of ${short(replayOf)}`),
  ]);
  return formatTable(["id", "received", "status", "hook", "mapping", "event", ""], rows);
}

/** The rest is printed with `--payload`. */
const MAX_PAYLOAD_LINES = 30;

/** Everything about an event for a person: what went wrong, what it led to, how that ended, and the request. 0: no payload. */
export function formatEvent(event: EventTimeline, maxPayloadLines = MAX_PAYLOAD_LINES): string[] {
  const { method, path, client, payload } = event.request;
  const lines = toLines(payload);
  const omitted = lines.length - maxPayloadLines;
  return [
    `${style("bold", event.id)}  ${toPrintable(event.hook)}  ${event.status}`,
    `received ${event.receivedAt}`,
    ...(event.replayOf ? [`replay of ${event.replayOf}`] : []),
    ...(event.mapping ? [`mapping ${event.mapping}`] : []),
    ...(event.event ? [`event ${toPrintable(event.event)}`] : []),
    ...(event.reason ? [`skipped: ${toPrintable(event.reason)}`] : []),
    ...section(
      "error",
      event.error ? [`${event.error.code}: ${event.error.message}`, ...toLines(event.error.detail)] : [],
    ),
    ...section("warnings", event.warnings),
    ...section("log", formatLog(event.log)),
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
    ...section("request", [
      `${method} ${path} from ${client}`,
      ...lines.slice(0, maxPayloadLines),
      ...(omitted > 0 && maxPayloadLines > 0
        ? [style("dim", `… ${formatCount(omitted, "more line")}: --payload shows all`)]
        : []),
    ]),
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
