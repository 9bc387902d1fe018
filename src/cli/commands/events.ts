import type { Command } from "commander";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parseDuration } from "../../config/resolve.ts";
import { ConfigError } from "../../errors.ts";
import { addServiceOptions, toCount } from "../command.ts";
import { formatTable } from "../format.ts";
import { type CliIo, print, printJson } from "../io.ts";
import { createOperatorClient, type OperatorClient, readPages, type ServiceFlags } from "../operator-client.ts";
import { type EventTimeline, formatEvent } from "./event-timeline.ts";

interface EventFilter {
  hook?: string;
  status?: string;
  /** Received at this time or later, and before `until`. */
  since?: string;
  until?: string;
}

type FilterFlags = ServiceFlags & EventFilter;
type ListFlags = FilterFlags & { limit: number; json: boolean };
type ReplayFlags = FilterFlags & { dryRun: boolean; json: boolean };

export function addEvents(program: Command, io: CliIo): void {
  const events = program.command("events").description("Inspect received events, and replay them.");

  addFilterOptions(events.command("list").description("List events, newest first."))
    .option("--limit <number>", "at most this many", toCount, 50)
    .option("--json", "print JSON", false)
    .action((flags: ListFlags) => listEvents(flags, io));

  addServiceOptions(events.command("show").description("Show everything about an event."))
    .argument("<id>")
    .option("--json", "print JSON", false)
    .action((id: string, flags: ServiceFlags & { json: boolean }) => showEvent(id, flags, io));

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
  const events: EventRow[] = [];
  for await (const event of readEvents(await createOperatorClient(flags, io), flags)) {
    if (events.push(event) === flags.limit) break;
  }
  if (flags.json) printJson(io, events);
  else if (events.length === 0) print(io, "No events match.");
  else print(io, ...formatEvents(events, io.stdout.columns));
}

async function showEvent(id: string, flags: ServiceFlags & { json: boolean }, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const response = await client.call("GET", `/api/events/${encodeURIComponent(id)}`);
  const event: EventTimeline = JSON.parse(await response.text());
  if (flags.json) printJson(io, event);
  else print(io, ...formatEvent(event));
}

async function exportEvents(flags: FilterFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const { body } = await client.call("GET", "/api/events/export", { ...toFilter(flags) });
  if (body) await pipeline(Readable.fromWeb(body), io.stdout, { end: false }).catch(ignoreClosedPipe);
}

/** `… export | head` has read enough. */
function ignoreClosedPipe(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) throw error;
}

/** Replays the oldest event first. Exit code 1 when one is refused. */
async function replayEvents(ids: string[], flags: ReplayFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const chosen = ids.length > 0 ? ids : await findIds(client, flags);
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

/** An event as `GET /api/events` lists it. */
interface EventRow {
  id: string;
  hook: string;
  mapping?: string;
  /** ISO 8601. */
  receivedAt: string;
  status: string;
  replayOf?: string;
}

/** The events that the flags choose, newest first. */
async function* readEvents(client: OperatorClient, flags: FilterFlags): AsyncGenerator<EventRow> {
  const { hook, status, since = "", until = "~" } = toFilter(flags);
  for await (const event of readPages<EventRow>(client, "/api/events", "events", { hook, status })) {
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

function formatEvents(events: EventRow[], width: number | undefined): string[] {
  const rows = events.map(({ id, receivedAt, hook, mapping, status, replayOf }) => [
    id,
    // The ids tell the order: seconds are enough.
    receivedAt.replace(/\.\d+Z$/, "Z"),
    status,
    hook,
    mapping,
    replayOf && `replay of ${replayOf}`,
  ]);
  return formatTable(["id", "received", "status", "hook", "mapping", ""], rows, width);
}
